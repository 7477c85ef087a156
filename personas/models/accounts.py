"""People and service accounts: the two kinds of user."""

from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from personas.models.base import Row


class UserManager(BaseUserManager["User"]):
    def get_by_natural_key(self, username: str | None) -> "User":
        """The account with this user name, else the one with this e-mail address. Raises `User.DoesNotExist`.

        Django's log-in calls this name; ``createsuperuser`` does too, and so gives nobody another's address as a name.
        """
        rows = self.filter(Q(username__iexact=username) | Q(email__iexact=username)) if username else self.none()
        found = sorted(rows, key=lambda user: user.username.casefold() != str(username).casefold())
        if not found:
            raise self.model.DoesNotExist
        return found[0]

    def create_superuser(self, username: str, password: str | None = None, **fields: Any) -> "User":
        """For ``manage.py createsuperuser``, which calls this name."""
        user = self.model(username=username, is_staff=True, is_superuser=True, **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user


class User(Row, AbstractBaseUser, PermissionsMixin):
    class Kind(models.TextChoices):
        PERSON = "person", "Person"
        SERVICE = "service", "Service account"

    username = models.CharField(
        max_length=150,
        unique=True,
        validators=[UnicodeUsernameValidator()],
        error_messages={"unique": "This user name is taken."},
    )
    name = models.CharField(max_length=150, blank=True, help_text="How the account is shown to others.")
    email = models.EmailField(blank=True)
    kind = models.CharField(max_length=8, choices=Kind, default=Kind.PERSON)
    tenant = models.ForeignKey(
        "personas.Tenant",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="service_accounts",
        help_text="The tenant a service account belongs to; people belong to none.",
    )
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False, help_text="May open the staff admin. Gives no right on tenants.")
    created_at = models.DateTimeField(auto_now_add=True)

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "username"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = ["email"]

    class Meta:
        constraints = (
            models.UniqueConstraint(
                Lower("username"), name="user_username_ci", violation_error_message="This user name is taken."
            ),
            models.UniqueConstraint(
                Lower("email"),
                condition=~Q(email=""),
                name="user_email_ci",
                violation_error_message="This e-mail address belongs to another account.",
            ),
            models.CheckConstraint(
                condition=Q(kind="person", tenant=None) | Q(kind="service", tenant__isnull=False),
                name="user_service_has_tenant",
                violation_error_message="A service account belongs to one tenant, a person to none.",
            ),
            models.CheckConstraint(
                condition=Q(kind="person") | Q(is_staff=False, is_superuser=False),
                name="user_service_no_staff",
                violation_error_message="A service account is neither staff nor superuser.",
            ),
        )

    def __str__(self) -> str:
        return self.name or self.username

    @property
    def is_service(self) -> bool:
        return self.kind == self.Kind.SERVICE
