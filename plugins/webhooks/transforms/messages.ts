/** What the gateway and a thread with transforms say to each other. Plain data. */
import type { TransformCall } from "@svc/sdk/webhooks";
import type { CallOutcome } from "./contract.ts";
import type { Copy } from "./copy.ts";

/** A transform to be looked at. */
export interface Candidate {
  readonly key: string;
  /** Path in the directory. */
  readonly module: string;
  readonly export: string | undefined;
  /** Milliseconds for each example. */
  readonly timeoutMs: number;
  /** For examples that name none. */
  readonly path: string;
}

/** A thread that compiles and tries transforms, one after the other, and has no further use. */
export interface CheckTask {
  readonly kind: "check";
  readonly copy: Copy;
  readonly candidates: readonly Candidate[];
  /** Milliseconds for the evaluation of a file with all that it imports. */
  readonly importMs: number;
}

/** A thread that answers calls of one transform. */
export interface ServeTask {
  readonly kind: "serve";
  readonly copy: Copy;
  readonly module: string;
  readonly export: string | undefined;
}

export type Task = CheckTask | ServeTask;

/** From a thread that checks. */
export type CheckReport =
  /** @param limitMs until the next message, else the thread hangs in `doing` */
  | { readonly kind: "step"; readonly doing: string; readonly limitMs: number }
  | { readonly kind: "passed"; readonly key: string; readonly examples: number }
  | { readonly kind: "failed"; readonly key: string; readonly problem: string };

/** To a thread that serves. */
export interface ServeRequest {
  readonly id: number;
  readonly call: TransformCall;
  readonly timeoutMs: number;
}

/** From a thread that serves. */
export type ServeReport =
  | { readonly kind: "ready" }
  /** The transform cannot be loaded; the thread is of no use. */
  | { readonly kind: "failed"; readonly problem: string }
  | { readonly kind: "answer"; readonly id: number; readonly outcome: CallOutcome }
  /** @param stack for the log */
  | { readonly kind: "threw"; readonly id: number; readonly problem: string; readonly stack: string | undefined };
