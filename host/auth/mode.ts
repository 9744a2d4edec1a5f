/** How clients prove themselves: the mode and its secret. Spec: §5.1, http/auth.md §1-3. */
import { isIPv4 } from "node:net";
import type { GatewaySection } from "../config/host-schema.ts";
import type { Environment } from "../config/paths.ts";
import { isLoopback } from "./locality.ts";

export type AuthMode = "token" | "password" | "none";

/** What a start decided about authentication. */
export interface AuthSettings {
  readonly mode: AuthMode;
  /** Set in mode `token`. */
  readonly token?: string;
  /** Set in mode `password`. */
  readonly password?: string;
}

/** A start that would be unsafe or could not work; the message names the way out. */
export class StartupRefusal extends Error {
  override readonly name = "StartupRefusal";
}

const present = (value: string | undefined) => value?.trim() || undefined;

/**
 * Explicit mode, else `password` when there is one, else `token`. Configuration wins over environment; blank is unset.
 * @param generateToken called only in mode `token` when there is none anywhere.
 * @throws StartupRefusal mode `password` without a password
 */
export function resolveAuth(section: GatewaySection, env: Environment, generateToken: () => string): AuthSettings {
  const { auth = {} } = section;
  const token = present(auth.token) ?? present(env["SVC_GATEWAY_TOKEN"]);
  const password = present(auth.password) ?? present(env["SVC_GATEWAY_PASSWORD"]);
  const mode = auth.mode ?? (password ? "password" : "token");
  if (mode === "none") return { mode };
  if (mode === "token") return { mode, token: token ?? generateToken() };
  if (!password) {
    throw new StartupRefusal(
      "gateway.auth.mode is password and there is none; set gateway.auth.password or SVC_GATEWAY_PASSWORD",
    );
  }
  return { mode, password };
}

/**
 * Addresses to listen on.
 * @throws StartupRefusal mode `none` off loopback, or `custom` without an IPv4 address. Spec: http/auth.md §3
 */
export function resolveBind(section: GatewaySection, { mode }: AuthSettings): readonly string[] {
  const { bind = "loopback", customBindHost } = section;
  if (bind === "loopback") return ["127.0.0.1", "::1"];
  if (bind === "custom" && !isIPv4(customBindHost ?? "")) {
    const what = customBindHost === undefined ? "is not set" : `is "${customBindHost}"`;
    throw new StartupRefusal(
      `gateway.bind is "custom" and gateway.customBindHost ${what}; set it to an IPv4 address of this machine`,
    );
  }
  const address = bind === "lan" ? "0.0.0.0" : String(customBindHost);
  if (mode === "none" && !isLoopback(address)) {
    throw new StartupRefusal(
      `gateway.bind is "${bind}" and gateway.auth.mode is "none", so anybody could use this gateway; set mode "token"`,
    );
  }
  return [address];
}
