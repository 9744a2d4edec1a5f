/** Transforms that are files: how a mapping names one, and what the host asks of the plugin that runs them. Spec: http/webhooks.md §6.3. */
import type { Violation } from "../schema.ts";

/** A transform by its place. */
export interface WebhookTransformRef {
  /** Relative to `hooks.transformsDir`. */
  readonly module: string;
  /** Default: `default`, then `transform`. */
  readonly export?: string;
  /** `worker`: one that spins or eats memory costs its request only. Default `host`. */
  readonly placement?: "host" | "worker";
  /** Milliseconds. Default 5000. */
  readonly timeoutMs?: number;
}

/** One call of a transform: plain data, so that it can go to a worker. */
export interface TransformCall {
  readonly payload: unknown;
  /** Names in lower case, credentials taken out. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whole, with a placeholder for its origin. */
  readonly url: string;
  readonly path: string;
}

/** What a call of a file came to. */
export type TransformOutcome =
  /** @param value `undefined`: use the mapping as it is; `null`: skip; else the override, JSON only */
  | { readonly kind: "result"; readonly value: unknown }
  | { readonly kind: "invalid-payload"; readonly violations: readonly Violation[] }
  /** A throw, a missed deadline, or no version that works. @param message for the log; names the file */
  | { readonly kind: "failed"; readonly message: string };

/** A transform that a mapping asks for. */
export interface PlannedTransform extends WebhookTransformRef {
  /** Path of the mapping: what examples get that name none. Default: blank. With several mappings the first one counts. */
  readonly path?: string;
}

/** Where the transforms are, and which ones the mappings ask for. */
export interface TransformPlan {
  /** Directory that holds everything: `<config dir>/hooks/transforms`. Absolute. */
  readonly root: string;
  /** `hooks.transformsDir`, absolute or relative to `root`; inside `root`. */
  readonly directory: string;
  /** None while webhooks are off. */
  readonly refs: readonly PlannedTransform[];
}
