/** Messages between the gateway and a thread with transforms. Plain data. */
import type { TransformCall } from "@svc/sdk/webhooks";
import type { CallOutcome } from "./contract.ts";
import type { Copy } from "./copy.ts";

/** A transform to check. */
export interface Candidate {
  readonly key: string;
  /** Path in the directory. */
  readonly module: string;
  readonly export: string | undefined;
  /** Milliseconds per example. */
  readonly timeoutMs: number;
  /** Default for examples without a path. */
  readonly path: string;
}

/** Task of a thread that compiles and tests transforms, one after the other, and then ends. */
export interface CheckTask {
  readonly kind: "check";
  readonly copy: Copy;
  readonly candidates: readonly Candidate[];
  /** Milliseconds for the evaluation of a file and all its imports. */
  readonly importMs: number;
}

/** Task of a thread that serves calls of one transform. */
export interface ServeTask {
  readonly kind: "serve";
  readonly copy: Copy;
  readonly module: string;
  readonly export: string | undefined;
}

export type Task = CheckTask | ServeTask;

/** Message from a checking thread. */
export type CheckReport =
  /** @param limitMs time until the next message; after that, the thread counts as hanging in `doing` */
  | { readonly kind: "step"; readonly doing: string; readonly limitMs: number }
  | { readonly kind: "passed"; readonly key: string; readonly examples: number }
  | { readonly kind: "failed"; readonly key: string; readonly problem: string };

/** Message to a serving thread. */
export interface ServeRequest {
  readonly id: number;
  readonly call: TransformCall;
  readonly timeoutMs: number;
}

/** Message from a serving thread. */
export type ServeReport =
  | { readonly kind: "ready" }
  /** The transform cannot be loaded; the thread is unusable. */
  | { readonly kind: "failed"; readonly problem: string }
  | { readonly kind: "answer"; readonly id: number; readonly outcome: CallOutcome }
  /** @param stack for the log */
  | { readonly kind: "threw"; readonly id: number; readonly problem: string; readonly stack: string | undefined };
