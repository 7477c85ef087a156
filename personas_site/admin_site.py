"""The staff admin: who comes in, and that nothing in it writes past a service."""

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache

from personas.admin_base import StaffAdmin, page_for
from personas.admin_verbs import writes
from personas.domain.errors import NotPermitted
from personas.http import actor_of
from personas.models import AuditEntry

LOOKS = ("GET", "HEAD", "OPTIONS")
OURS = ("personas", "learning", "runtime")
# Django's own: passwords are changed at /accounts/, and the last would say which ids exist.
LEFT_OUT = {"password_change", "password_change_done", "view_on_site"}


class StaffSite(admin.AdminSite):
    site_title = site_header = "Staff admin"
    index_title = "Staff admin"
    empty_value_display = "none"

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """Take a page that is built on ours. Those that packages bring for themselves would write past the services."""
        if isinstance(admin_class, type) and issubclass(admin_class, StaffAdmin):
            super().register(model_or_iterable, admin_class, **options)

    def has_permission(self, request: HttpRequest) -> bool:
        return request.user.is_active and request.user.is_staff

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Any:
        """Let active staff in, and only to look, unless the view is marked as one that calls a service."""
        inner = super().admin_view(view, cacheable)

        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            if request.user.is_authenticated and not self.has_permission(request):
                raise NotPermitted("This part is for staff.")
            if request.method not in LOOKS and not getattr(view, "writes", False):
                return HttpResponseNotAllowed(LOOKS)
            return inner(request, *args, **kwargs)

        return update_wrapper(guarded, inner)

    @method_decorator(never_cache)
    @method_decorator(login_not_required)
    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """There is one form to log in, and it is elsewhere."""
        index = reverse("admin:index")
        if self.has_permission(request):
            return HttpResponseRedirect(index)
        if request.user.is_authenticated:
            raise NotPermitted("This part is for staff.")
        return redirect_to_login(request.GET.get("next") or index, resolve_url(settings.LOGIN_URL))

    @writes
    def logout(self, request: HttpRequest, extra_context: Any = None) -> Any:
        return super().logout(request, extra_context)

    def get_urls(self) -> list[Any]:
        return [each for each in super().get_urls() if getattr(each, "name", None) not in LEFT_OUT]

    def index(self, request: HttpRequest, extra_context: Any = None) -> Any:
        latest = AuditEntry.objects.permitted(actor_of(request)).order_by("-created_at", "-pk")[:12]
        return super().index(request, {"latest": latest, **(extra_context or {})})

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """Ours first, and by the names the pages use."""
        apps = super().get_app_list(request, app_label)
        for app in apps:
            for entry in app["models"]:
                entry["name"] = page_for(self, entry["model"]).many
            app["models"].sort(key=lambda entry: entry["name"].casefold())
        return sorted(apps, key=lambda app: OURS.index(app["app_label"]) if app["app_label"] in OURS else len(OURS))
