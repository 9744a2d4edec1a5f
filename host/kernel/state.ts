/** The states of a plugin. */

/**
 * `blocked` needs an operator, `pending` waits for another plugin or for a retry, `failed` threw an error, `quarantined` failed too often; in
 * these states its declarations are withdrawn. In `starting` they are committed, and calls get UNAVAILABLE.
 */
export type PluginState =
  | "described"
  | "disabled"
  | "blocked"
  | "pending"
  | "staged"
  | "starting"
  | "active"
  | "reloading"
  | "draining"
  | "stopped"
  | "failed"
  | "quarantined";
