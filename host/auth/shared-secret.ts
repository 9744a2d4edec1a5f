/** The gateway's own secret, over WebSocket and HTTP. Spec: protocol/frames-and-connect.md §7, http/auth.md §4. */
import type { ConnectParams } from "@svc/sdk";
import type { AuthSettings } from "./mode.ts";
import { sameSecret } from "./secret.ts";

/** What the shared credential came to. `reason` is the wire's `authReason`. */
export type SharedAuth = { readonly ok: true } | { readonly ok: false; readonly reason: string };

const present = (value: string | undefined) => value?.trim() || undefined;

/**
 * Checks `connect.auth` against the mode.
 * Choice (spec/README.md): the password is accepted in `auth.token`, too.
 */
export function checkShared({ mode, token, password }: AuthSettings, auth: ConnectParams["auth"]): SharedAuth {
  if (mode === "none") return { ok: true };
  const given = mode === "token" ? present(auth?.token) : (present(auth?.password) ?? present(auth?.token));
  const expected = mode === "token" ? token : password;
  if (expected === undefined) return { ok: false, reason: `${mode}_missing_config` };
  if (given === undefined) return { ok: false, reason: `${mode}_missing` };
  return sameSecret(given, expected) ? { ok: true } : { ok: false, reason: `${mode}_mismatch` };
}

/** Checks an `Authorization` header: `Bearer <secret>`, the scheme in any case. */
export function checkBearer({ mode, token, password }: AuthSettings, header: string | undefined): boolean {
  if (mode === "none") return true;
  const given = /^bearer\s+(.+)$/i.exec(header ?? "")?.[1]?.trim();
  const expected = mode === "token" ? token : password;
  return Boolean(given && expected) && sameSecret(given ?? "", expected ?? "");
}

const DETAIL_CODES: Readonly<Record<string, string>> = {
  token_missing: "AUTH_TOKEN_MISSING",
  token_mismatch: "AUTH_TOKEN_MISMATCH",
  token_missing_config: "AUTH_TOKEN_NOT_CONFIGURED",
  password_missing: "AUTH_PASSWORD_MISSING",
  password_mismatch: "AUTH_PASSWORD_MISMATCH",
  password_missing_config: "AUTH_PASSWORD_NOT_CONFIGURED",
  device_token_mismatch: "AUTH_DEVICE_TOKEN_MISMATCH",
};

/** `details.code` for an `authReason`. */
export function authDetailCode(reason: string): string {
  return DETAIL_CODES[reason] ?? "AUTH_UNAUTHORIZED";
}

const SENTENCES: Readonly<Record<string, string>> = {
  token_missing: "gateway token missing (pass --token, or set SVC_GATEWAY_TOKEN)",
  token_mismatch:
    "gateway token mismatch (the right one is where `svc gateway run` says: SVC_GATEWAY_TOKEN, gateway.auth.token or the kept token file)",
  password_missing: "gateway password missing (pass --password, or set SVC_GATEWAY_PASSWORD)",
  password_mismatch: "gateway password mismatch (use gateway.auth.password of the gateway)",
  device_token_mismatch: "device token mismatch (connect with the gateway token to get a new one)",
};

/** The sentence a client shows; existing ones match its first word. */
export function unauthorizedText(reason: string): string {
  return `unauthorized: ${SENTENCES[reason] ?? reason.replaceAll("_", " ")}`;
}
