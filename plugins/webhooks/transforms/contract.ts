/** Interface between the mapping engine and the transforms of the transforms directory. */
import type {
  TransformCall,
  TransformOutcome,
  TransformPlan,
  WebhookTransformInfo,
  WebhookTransformRef,
} from "@svc/sdk/webhooks";

/** Outcome of a successful call; a failure is an exception. */
export type CallOutcome = Exclude<TransformOutcome, { kind: "failed" }>;

/** Why a transform cannot be used; the message names the file and the next step. */
export class TransformError extends Error {
  override readonly name = "TransformError";
}

/** The transforms of one gateway. */
export interface Transforms {
  /**
   * Applies a new plan: reads and copies the directory, compiles off the main thread, runs the examples, and activates what
   * passes. Versions of the previous plan that the new one still uses serve until then. Never rejects because of a file; see `info`.
   */
  configure(plan: TransformPlan): Promise<void>;
  /** Reads the directory now, as after a change on disk. */
  refresh(): Promise<void>;
  /** Waits for the first `configure`. @throws TransformError missing, broken, failed or too slow */
  run(ref: WebhookTransformRef, call: TransformCall): Promise<CallOutcome>;
  info(ref: WebhookTransformRef): WebhookTransformInfo;
  /** Problems of the directory as a whole, e.g. its owner; each names the path. */
  problems(): readonly { readonly path: string; readonly message: string }[];
  /** Calls `changed` after a version went live or broke. @returns a function that unsubscribes */
  onChange(changed: () => void): () => void;
  /** Ends the workers and the watcher. Safe to call twice. */
  stop(): Promise<void>;
}
