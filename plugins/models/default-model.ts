/** Where the configuration file keeps the default model: `agents.defaults.model`. Pure. */

/** Looked into field by field. */
interface File {
  readonly agents?: { readonly defaults?: { readonly model?: unknown } };
}

interface WithFallbacks {
  readonly primary?: unknown;
}

/** The reference as written, alone or before its fallbacks. */
export function defaultModelOf(parsed: unknown): string | undefined {
  const model = (parsed as File | null | undefined)?.agents?.defaults?.model;
  const ref = isObject(model) ? (model as WithFallbacks).primary : model;
  return typeof ref === "string" ? ref : undefined;
}

/** A merge patch that sets it and keeps the fallbacks there are. */
export function patchOf(parsed: unknown, ref: string): object {
  const model = (parsed as File | null | undefined)?.agents?.defaults?.model;
  return { agents: { defaults: { model: isObject(model) ? { primary: ref } : ref } } };
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
