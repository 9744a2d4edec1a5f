/** One row of a table of the specification. */
export type Row =
  /** Tests by file, relative to `test/` and without `.test.ts`, and a part of their name. */
  | { readonly tests: readonly (readonly [file: string, name: string])[] }
  /** Tested once this capability exists. */
  | { readonly later: Capability }
  /** Nothing to test in the gateway, and why: behaviour of another program, or a decision without visible effect. */
  | { readonly none: string };

export type Capability =
  | "browser control"
  | "canvas"
  | "control panel files"
  | "cron"
  | "send and poll"
  | "skills"
  | "tailnet"
  | "TLS"
  | "tools/invoke and the public APIs"
  | "update events"
  | "voice"
  | "webhooks";

/** Tests of one file. */
export const tested = (file: string, ...names: readonly string[]): Row => ({
  tests: names.map((name) => [file, name] as const),
});
/** Tests of several files. */
export const all = (...rows: readonly Row[]): Row => ({
  tests: rows.flatMap((row) => ("tests" in row ? row.tests : [])),
});
export const later = (capability: Capability): Row => ({ later: capability });
export const none = (why: string): Row => ({ none: why });
