/** The default model in the configuration file: `agents.defaults.model`. Pure. */

/** A parsed configuration file of unknown content; each field is checked. */
interface File {
  readonly agents?: { readonly defaults?: { readonly model?: unknown } };
}

interface WithFallbacks {
  readonly primary?: unknown;
}

/** The configured reference of the default model, without the fallbacks. */
export function defaultModelOf(parsed: unknown): string | undefined {
  const model = (parsed as File | null | undefined)?.agents?.defaults?.model;
  const ref = isObject(model) ? (model as WithFallbacks).primary : model;
  return typeof ref === "string" ? ref : undefined;
}

/** A merge patch that sets the default model and keeps the fallbacks. */
export function patchOf(parsed: unknown, ref: string): object {
  const model = (parsed as File | null | undefined)?.agents?.defaults?.model;
  return { agents: { defaults: { model: isObject(model) ? { primary: ref } : ref } } };
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
