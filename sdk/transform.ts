/**
 * What a file of the transforms directory is written with: `@svc/sdk/transform`. Nothing to install, no build step.
 * Spec: §4.5, http/webhooks.md §6.3.
 */
import { type Static, type TSchema, Type } from "./schema.ts";

export { type Static, type TSchema, Type };

/** One webhook request as a transform sees it. */
export interface TransformContext<P = unknown> {
  /** The body: parsed JSON, an object or a list. */
  readonly payload: P;
  /** Names in lower case, repeated headers joined with `, `. Choice: without `authorization`, `cookie` and the hook token. */
  readonly headers: Readonly<Record<string, string>>;
  /** Its origin is a placeholder. */
  readonly url: URL;
  /** What comes after the base path, without slashes around it. */
  readonly path: string;
  /** Aborts at the deadline of the transform. */
  readonly signal: AbortSignal;
}

/** Makes the request a system event of the main session. What is left out keeps what the mapping says. */
export interface WakeOverride {
  readonly kind?: "wake";
  readonly text?: string;
  readonly mode?: "now" | "next-heartbeat";
  readonly name?: string;
  readonly allowUnsafeExternalContent?: boolean;
}

/** Makes the request a run of an agent. What is left out keeps what the mapping says. */
export interface AgentOverride {
  readonly kind?: "agent";
  readonly message?: string;
  readonly name?: string;
  readonly agentId?: string;
  readonly sessionKey?: string;
  readonly wakeMode?: "now" | "next-heartbeat";
  readonly deliver?: boolean;
  readonly channel?: string;
  readonly to?: string;
  readonly model?: string;
  readonly thinking?: string;
  /** Seconds, more than 0. */
  readonly timeoutSeconds?: number;
  /** True hands the text to the model unmarked. Dangerous: whoever can post then speaks as you. */
  readonly allowUnsafeExternalContent?: boolean;
}

/** `null`: nothing is done, and the sender gets 204. `undefined`: what the mapping says. */
export type TransformResult<R> = R | null | undefined | void;

/**
 * Turns a request into an action: the default export of a file in the transforms directory.
 * A throw, or no answer within the deadline (5 s by default), is answered with 500 and changes nothing.
 * @typeParam R for an action of a plugin: its fields, e.g. `{ kind: "ticket"; title: string }`
 */
export type Transform<P = unknown, R = WakeOverride | AgentOverride> = (
  context: TransformContext<P>,
) => TransformResult<R> | Promise<TransformResult<R>>;

/** A request and what the transform must make of it; tried before a new version goes live. */
export interface TransformExample {
  /** For the report. Default: its place in the list. */
  readonly name?: string;
  readonly payload: unknown;
  /** Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the path of the mapping. */
  readonly path?: string;
  /** Exactly what the transform returns; `null` for a request it skips. */
  readonly expect: object | null;
}

/** A transform with more to say about itself; make one with `defineTransform`. */
export interface TransformModule<P extends TSchema = TSchema, R = WakeOverride | AgentOverride> {
  /** JSON Schema of the body; one that does not match is answered with 400 and the path. Default: anything. */
  readonly payload?: P;
  readonly examples?: readonly TransformExample[];
  readonly transform: Transform<Static<P>, R>;
}

/** Marks a transform so that two copies of this SDK agree on what one is. */
export const TRANSFORM = Symbol.for("svc.transform/1");

/** What a result is held to: with the kind of one of ours, to the fields of that kind. Actions of plugins check their own. */
type Checked<R> = R extends { readonly kind: "wake" }
  ? Only<R, WakeOverride>
  : R extends { readonly kind: "agent" }
    ? Only<R, AgentOverride>
    : R extends object
      ? R
      : never;
/** A misspelt field is an error, where an assignment would let it pass. */
type Only<R extends { readonly kind: unknown }, Fields> = Fields &
  Pick<R, "kind"> & {
    readonly [K in Exclude<keyof R, keyof Fields>]?: undefined;
  };

/** Declares a transform whose `payload` is typed and checked by a schema, and whose result is typed by its `kind`. */
export function defineTransform<P extends TSchema, const R = WakeOverride | AgentOverride>(
  module: TransformModule<P, R> & { readonly transform: Transform<Static<P>, Checked<R>> },
): TransformModule<P, R> {
  return Object.assign({ ...module }, { [TRANSFORM]: true });
}
