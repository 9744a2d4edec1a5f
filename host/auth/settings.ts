/** The authentication settings in force, and the error of a refused start. */
import type { TrustedProxySettings } from "./trusted-proxy.ts";

export const AUTH_MODES = ["token", "password", "none", "trusted-proxy"] as const;
export type AuthMode = (typeof AUTH_MODES)[number];

/** Settings given when the gateway is started; they override the same keys of `gateway.auth`. Blank is unset. */
export interface AuthOverrides {
  readonly mode?: AuthMode | undefined;
  readonly token?: string | undefined;
  readonly password?: string | undefined;
}

/** The authentication settings in force: the mode, and the settings that mode relies on. */
export interface AuthSettings {
  readonly mode: AuthMode;
  /** Set in mode `token`. */
  readonly token?: string;
  /** Set in mode `password`. */
  readonly password?: string;
  /** Set in mode `trusted-proxy`. */
  readonly trustedProxy?: TrustedProxySettings;
}

/** A start that would be unsafe or could not work; the message names the next step. */
export class StartupRefusal extends Error {
  override readonly name = "StartupRefusal";
}
