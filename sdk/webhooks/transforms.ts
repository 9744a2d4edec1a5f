/** Transforms in files: how a mapping names one, and how the host calls the plugin that runs them. Spec: http/webhooks.md §6.3. */
import type { Violation } from "../schema.ts";

/** Reference to a transform file. */
export interface WebhookTransformRef {
  /** Relative to `hooks.transformsDir`. */
  readonly module: string;
  /** Default: `default`, then `transform`. */
  readonly export?: string;
  /** `worker`: an endless loop or excessive memory use costs only its request. Default `host`. */
  readonly placement?: "host" | "worker";
  /** Milliseconds. Default 5000. */
  readonly timeoutMs?: number;
}

/** One call of a transform: plain data, so that it can be sent to a worker. */
export interface TransformCall {
  readonly payload: unknown;
  /** Names in lower case, without credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** The full URL, with a placeholder for its origin. */
  readonly url: string;
  readonly path: string;
}

/** Outcome of a call of a transform file. */
export type TransformOutcome =
  /** @param value `undefined`: use the mapping as it is; `null`: skip; else the override, JSON only */
  | { readonly kind: "result"; readonly value: unknown }
  | { readonly kind: "invalid-payload"; readonly violations: readonly Violation[] }
  /** A throw, a missed deadline, or no version that works. @param message for the log; names the file */
  | { readonly kind: "failed"; readonly message: string };

/** A transform that a mapping uses. */
export interface PlannedTransform extends WebhookTransformRef {
  /** Path of the mapping, for examples that name none. Default: blank. With several mappings, that of the first counts. */
  readonly path?: string;
}

/** Directories of the transforms, and the transforms that mappings use. */
export interface TransformPlan {
  /** Directory that contains all transforms: `<config dir>/hooks/transforms`. Absolute. */
  readonly root: string;
  /** `hooks.transformsDir`, absolute or relative to `root`; inside `root`. */
  readonly directory: string;
  /** Empty while webhooks are disabled. */
  readonly refs: readonly PlannedTransform[];
}
