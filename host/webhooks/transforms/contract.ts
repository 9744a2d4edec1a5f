/** What the mapping engine and the transforms of the transforms directory know of each other. */
import type { Violation } from "@svc/sdk";
import type { WebhookTransformInfo, WebhookTransformRef } from "@svc/sdk/webhooks";

/** One call of a transform: plain data, so that it can go to a worker. */
export interface TransformCall {
  readonly payload: unknown;
  /** Names in lower case, credentials taken out. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whole, with a placeholder for its origin. */
  readonly url: string;
  readonly path: string;
}

/** What a call came to. A throw, a missed deadline or a dead worker is an exception instead. */
export type TransformOutcome =
  /** @param value `undefined`: use the mapping as it is; `null`: skip; else the override, JSON only */
  | { readonly kind: "result"; readonly value: unknown }
  | { readonly kind: "invalid-payload"; readonly violations: readonly Violation[] };

/** Why a transform cannot serve; its message names the file and says what to do. */
export class TransformError extends Error {
  override readonly name = "TransformError";
}

/** Where transforms are, and which ones are asked for. */
export interface TransformPlan {
  /** Directory that holds everything: `<config dir>/hooks/transforms`. Absolute. */
  readonly root: string;
  /** `hooks.transformsDir`, absolute or relative to `root`; inside `root`. Default: the root itself. */
  readonly directory: string;
  readonly refs: readonly PlannedTransform[];
}

/** A transform that is asked for. */
export interface PlannedTransform extends WebhookTransformRef {
  /** Path of the mapping: what examples get that name none. Default: blank. With several mappings the first one counts. */
  readonly path?: string;
}

/** The transforms of one gateway. */
export interface Transforms {
  /**
   * Takes a new plan over: looks at the directory, copies it, compiles off the main thread, tries the examples, and puts what
   * passes in service. What a former plan had in service and is still asked for serves until then. Never rejects because of
   * a file; see `info`.
   */
  configure(plan: TransformPlan): Promise<void>;
  /** Looks at the directory now, as after a change on disk. */
  refresh(): Promise<void>;
  /** Waits for `configure` when that is the first time. @throws TransformError missing, broken, failed or too slow */
  run(ref: WebhookTransformRef, call: TransformCall): Promise<TransformOutcome>;
  info(ref: WebhookTransformRef): WebhookTransformInfo;
  /** What is wrong with the directory as a whole, e.g. its owner; each names the path. */
  problems(): readonly { readonly path: string; readonly message: string }[];
  /** Calls `changed` after a version went live or broke. @returns stops it */
  onChange(changed: () => void): () => void;
  /** Ends workers and the watch. Safe to call twice. */
  stop(): Promise<void>;
}
