"""The addresses below ``/accounts/``: getting in and out, and one's own account."""

from django.contrib.auth import views as auth
from django.contrib.auth.decorators import login_not_required
from django.urls import path

from personas_site import login_account as account
from personas_site.login import log_in, log_in_code
from personas_site.login_proof import open_without_second_factor

urlpatterns = [
    path("login/", log_in, name="login"),
    path("login/code/", log_in_code, name="login_code"),
    path("logout/", open_without_second_factor(auth.LogoutView.as_view()), name="logout"),
    path("me/", account.account, name="account"),
    path("password/", account.password, name="password_change"),
    path("password/forgotten/", account.PasswordForgotten.as_view(), name="password_reset"),
    path(
        "password/forgotten/sent/",
        login_not_required(auth.PasswordResetDoneView.as_view(template_name="accounts/forgotten_sent.html")),
        name="password_reset_done",
    ),
    path("password/reset/<uidb64>/<token>/", account.PasswordReset.as_view(), name="password_reset_confirm"),
    path("two-factor/", account.two_factor, name="two_factor"),
    path("two-factor/move/", account.two_factor_move, name="two_factor_move"),
    path("two-factor/codes/", account.two_factor_codes, name="two_factor_codes"),
    path("two-factor/codes.txt", account.two_factor_file, name="two_factor_file"),
    path("two-factor/off/", account.two_factor_off, name="two_factor_off"),
]
