/** The states of a plugin. */

/**
 * `blocked` needs a person, `pending` waits for another plugin or for time, `failed` broke, `quarantined` broke too
 * often; none of these is visible to a request. `starting` is committed and answers UNAVAILABLE.
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
