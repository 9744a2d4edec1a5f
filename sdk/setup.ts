/** How `setup` reports that a plugin cannot start. */

/** Why `setup` did not finish; thrown by `notReady`, `authRequired` or `misconfigured`. */
export interface SetupOutcome extends Error {
  readonly name: "SetupOutcome";
  readonly outcome: "not-ready" | "auth-required" | "misconfigured";
  readonly retryMs?: number;
  readonly path?: string;
}

function setupOutcome(message: string, fields: Omit<SetupOutcome, keyof Error>): SetupOutcome {
  return Object.assign(new Error(message), { name: "SetupOutcome" as const, ...fields });
}

/** Setup cannot finish yet; the kernel retries after `retryMs` milliseconds. @throws always */
export function notReady(message: string, retryMs: number): never {
  throw setupOutcome(message, { outcome: "not-ready", retryMs });
}

/** Setup requires a login first; shown in `svc plugins list`. @throws always */
export function authRequired(message: string): never {
  throw setupOutcome(message, { outcome: "auth-required" });
}

/** The configuration of the plugin is unusable; `path` is relative to its own section. @throws always */
export function misconfigured(path: string, message: string): never {
  throw setupOutcome(message, { outcome: "misconfigured", path });
}
