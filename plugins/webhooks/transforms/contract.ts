/** What the mapping engine and the transforms of the transforms directory know of each other. */
import type {
  TransformCall,
  TransformOutcome,
  TransformPlan,
  WebhookTransformInfo,
  WebhookTransformRef,
} from "@svc/sdk/webhooks";

/** What a call came to that did not fail; a failure is an exception. */
export type CallOutcome = Exclude<TransformOutcome, { kind: "failed" }>;

/** Why a transform cannot serve; its message names the file and says what to do. */
export class TransformError extends Error {
  override readonly name = "TransformError";
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
  run(ref: WebhookTransformRef, call: TransformCall): Promise<CallOutcome>;
  info(ref: WebhookTransformRef): WebhookTransformInfo;
  /** What is wrong with the directory as a whole, e.g. its owner; each names the path. */
  problems(): readonly { readonly path: string; readonly message: string }[];
  /** Calls `changed` after a version went live or broke. @returns stops it */
  onChange(changed: () => void): () => void;
  /** Ends workers and the watch. Safe to call twice. */
  stop(): Promise<void>;
}
