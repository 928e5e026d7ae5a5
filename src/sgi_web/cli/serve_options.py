"""The options of ``sgi serve`` that become settings of the site: clients, pages, judge and guard."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import anyio

from sgi.cli import options
from sgi.cli.option_values import judge_settings
from sgi.kernel.errors import UsageError
from sgi.kernel.input_limits import size_in_bytes

if TYPE_CHECKING:
    from sgi.llm.judge_spec import JudgeSpec
    from sgi.service.guard import Guard
    from sgi_quiz.review_file import Review

MIN_TOKEN_LENGTH = 16
TRACE_ID = "{trace_id}"
"""The part of the address of a trace that its id replaces."""
_HEADER_NAME = re.compile(r"[A-Za-z0-9-]{1,100}")
_MAX_GUIDE = 20_000
_GUARD_SECONDS = 30.0
"""The time of the guard for an answer; the longest that a request may have takes about 6 s."""

_security, _pages, _judge, _guard = map(options.option_group, ("Security", "Pages", "Judge", "Guard"))


@dataclass(frozen=True, kw_only=True)
class SiteFlags:
    """The values of these options: one field for each option."""

    token: Annotated[
        str | None,
        _security(envvar="SGI_SERVE_TOKEN", help="Token of people who may edit: 16 characters or more."),
    ] = None
    view_token: Annotated[
        str | None, _security(envvar="SGI_SERVE_VIEW_TOKEN", help="Token of people who may only read.")
    ] = None
    public_host: Annotated[
        list[str] | None,
        _security(help="Public name of a reverse proxy, such as sgi.example.org; repeatable."),
    ] = None
    trusted_proxy: Annotated[
        list[str] | None,
        _security(help="Address of a proxy whose X-Forwarded-… headers are used; repeatable."),
    ] = None
    identity_header: Annotated[
        str | None, _security(help="Header in which the trusted proxy names a person. Nobody else gets in.")
    ] = None
    upload_limit: Annotated[str, _pages(help="Maximum size of an uploaded file.")] = "100MB"
    label_guide: Annotated[
        Path | None, _pages(exists=True, dir_okay=False, help="Text file with a guide for people who label.")
    ] = None
    quiz: Annotated[
        Path | None, _pages(help="Quiz of `sgi quiz` to review: keep, edit or drop each question.")
    ] = None
    trace_url: Annotated[
        str | None, _pages(help="Address of a trace in your tracing tool, with {trace_id}. Rows link to it.")
    ] = None
    judge: Annotated[
        str | None, _judge(envvar="SGI_SERVE_JUDGE", help="LLM for uploads and traces, as for `sgi run`.")
    ] = None
    judge_set: options.JudgeSet = None
    judge_budget: Annotated[
        float | None, _judge(min=0.0, help="Maximum cost of the judge for all uploads in US dollars.")
    ] = None
    guard: Annotated[
        Path | None,
        _guard(help="Guard file of `sgi guard fit`: POST /api/v1/guard blocks unsupported answers."),
    ] = None
    guard_on_error: Annotated[
        Literal["allow", "block"], _guard(help="What happens to an answer that cannot be scored.")
    ] = "block"

    def settings(self, *, is_local: bool) -> dict[str, Any]:
        """Return the settings of the site; ``is_local`` if the server listens on this machine only.

        Raises:
            UsageError: others can reach the server without a token or a proxy that names them, a value is not
                valid, or options contradict each other.
            MissingExtraError: the extra ``judge`` is not installed.
        """
        proxies, guide = self._proxies(), self.label_guide
        if self.identity_header is not None:
            self._check_identity_header()
        elif not (self.token or self.view_token) and (self.public_host or proxies or not is_local):
            hint = (
                f"Set SGI_SERVE_TOKEN to at least {MIN_TOKEN_LENGTH} characters, or serve on 127.0.0.1 "
                "without --public-host and --trusted-proxy."
            )
            raise UsageError("Others can reach the server, so a token is required.", hint=hint)
        self._check_tokens()
        return {
            "token": self.token or None,
            "view_token": self.view_token or None,
            "identity_header": self.identity_header,
            "proxies": proxies,
            "upload_limit": size_in_bytes(self.upload_limit),
            "label_guide": "" if guide is None else guide.read_text("utf-8", "replace")[:_MAX_GUIDE],
            "quiz": self._checked_quiz(),
            "trace_url": self._checked_trace_url(),
            "judge": self._checked_judge(),
            "judge_budget": self.judge_budget,
            "guard": self._checked_guard(),
        }

    @property
    def judge_settings(self) -> dict[str, Any] | None:
        """The settings of the judge; None without a judge."""
        return judge_settings(self.judge_set, {} if self.judge is None else {"model": self.judge})

    def _check_tokens(self) -> None:
        for token in filter(None, (self.token, self.view_token)):
            if len(token) < MIN_TOKEN_LENGTH or not token.isascii() or not token.isprintable():
                hint = "`python -c 'import secrets; print(secrets.token_urlsafe())'` makes one."
                message = f"A token has at least {MIN_TOKEN_LENGTH} printable ASCII characters."
                raise UsageError(message, hint=hint)
        if self.token and self.token == self.view_token:
            raise UsageError("The two tokens must differ.", hint="Change SGI_SERVE_VIEW_TOKEN.")

    def _check_identity_header(self) -> None:
        if not self.trusted_proxy:
            raise UsageError("--identity-header needs --trusted-proxy, such as --trusted-proxy 127.0.0.1.")
        if self.token or self.view_token:
            hint = "Unset SGI_SERVE_TOKEN and SGI_SERVE_VIEW_TOKEN: only the proxy lets people in."
            raise UsageError("--identity-header cannot be combined with tokens.", hint=hint)
        if not _HEADER_NAME.fullmatch(self.identity_header or ""):
            raise UsageError(f"{self.identity_header!r} is not the name of a header.")

    def _proxies(self) -> frozenset[str]:
        """Check that proxies are IP addresses: names, networks and * would trust too many clients."""
        try:
            return frozenset(str(ip_address(address)) for address in self.trusted_proxy or ())
        except ValueError as error:
            hint = "Use the address that its connections come from, as in --trusted-proxy 127.0.0.1."
            raise UsageError(f"--trusted-proxy must be an IP address: {error}.", hint=hint) from error

    def _checked_trace_url(self) -> str:
        url = self.trace_url or ""
        if url and not (url.startswith(("https://", "http://")) and TRACE_ID in url):
            hint = f"Example: --trace-url https://langfuse.example.org/project/p/traces/{TRACE_ID}"
            raise UsageError(f"--trace-url must be an http(s) URL with {TRACE_ID}, not {url!r}.", hint=hint)
        return url

    def _checked_quiz(self) -> Review | None:
        """Return the review of a quiz that can be read; None if there is none."""
        from sgi_quiz.review_file import Review

        review = None if self.quiz is None else Review(self.quiz)
        if review is not None:
            review.read()
        return review

    def _checked_guard(self) -> Guard | None:
        """Return the guard of a valid file; None if there is none."""
        if self.guard is None:
            if self.guard_on_error != "block":
                raise UsageError("--guard-on-error needs --guard.")
            return None
        from sgi.service.guard import Guard

        return Guard(self.guard, on_error=self.guard_on_error, timeout=_GUARD_SECONDS)

    def _checked_judge(self) -> JudgeSpec | None:
        """Return the judge; None if there is none.

        Raises:
            UsageError: an option needs --judge, the key is missing, or a budget has no known price.
            MissingExtraError: the extra ``judge`` is not installed.
        """
        if self.judge is None:
            if self.judge_set or self.judge_budget is not None:
                raise UsageError(
                    "Options of the judge are set, but no judge: --judge is required.",
                    hint="Write --judge openai:NAME.",
                )
            return None
        from sgi.llm.calls import price_of
        from sgi.llm.judge_spec import JudgeSpec
        from sgi.llm.open_judge import open_chat

        spec = JudgeSpec.of(self.judge_settings or {})
        spec.check_combination()
        if self.judge_budget is not None and price_of(spec) is None:
            hint = "Add --judge-set input_price=… and --judge-set output_price=…"
            raise UsageError("--judge-budget needs the price of the judge, which is unknown.", hint=hint)

        async def check() -> None:
            async with open_chat(spec):
                pass

        anyio.run(check)
        return spec
