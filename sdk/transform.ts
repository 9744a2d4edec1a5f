/**
 * API of files in the transforms directory: `@svc/sdk/transform`. Needs no installation and no build step. Spec: §4.5,
 * http/webhooks.md §6.3.
 */
import { type Static, type TSchema, Type } from "./schema.ts";

export { type Static, type TSchema, Type };

/** One webhook request, as passed to a transform. */
export interface TransformContext<P = unknown> {
  /** The parsed JSON body, an object or a list. */
  readonly payload: P;
  /**
   * Names in lower case, repeated headers joined with `, `. Choice: without `authorization`, `cookie` and the hook
   * token.
   */
  readonly headers: Readonly<Record<string, string>>;
  /** The origin is a placeholder. */
  readonly url: URL;
  /** The part after the base path, without leading and trailing slashes. */
  readonly path: string;
  /** Aborts at the deadline of the transform. */
  readonly signal: AbortSignal;
}

/** Turns the request into a system event of the main session. Omitted fields keep the values of the mapping. */
export interface WakeOverride {
  readonly kind?: "wake";
  readonly text?: string;
  readonly mode?: "now" | "next-heartbeat";
  readonly name?: string;
  readonly allowUnsafeExternalContent?: boolean;
}

/** Turns the request into an agent run. Omitted fields keep the values of the mapping. */
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
  /** Seconds, greater than 0. */
  readonly timeoutSeconds?: number;
  /**
   * True passes the text to the model unmarked. Dangerous: anyone who can send the webhook then speaks as the owner.
   */
  readonly allowUnsafeExternalContent?: boolean;
}

/** `null`: nothing is done and the sender receives 204. `undefined`: the mapping applies unchanged. */
export type TransformResult<R> = R | null | undefined | void;

/**
 * Turns a request into an action: the default export of a file in the transforms directory. A throw, or no result
 * within the deadline (5 s by default), is answered with 500 and changes nothing.
 * @typeParam R for an action of a plugin: its fields, e.g. `{ kind: "ticket"; title: string }`
 */
export type Transform<P = unknown, R = WakeOverride | AgentOverride> = (
  context: TransformContext<P>,
) => TransformResult<R> | Promise<TransformResult<R>>;

/** A request and the expected result; checked before a new version goes live. */
export interface TransformExample {
  /** Shown in the report. Default: its position in the list. */
  readonly name?: string;
  readonly payload: unknown;
  /** Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the path of the mapping. */
  readonly path?: string;
  /** The exact result of the transform; `null` for a skipped request. */
  readonly expect: object | null;
}

/** A transform with a schema and examples; created with `defineTransform`. */
export interface TransformModule<P extends TSchema = TSchema, R = WakeOverride | AgentOverride> {
  /** JSON Schema of the body; a mismatch is answered with 400 and the path. Default: any body. */
  readonly payload?: P;
  readonly examples?: readonly TransformExample[];
  readonly transform: Transform<Static<P>, R>;
}

/** Marks transforms, so that two copies of the SDK recognize each other's transforms. */
export const TRANSFORM = Symbol.for("svc.transform/1");

/** Type check of a result: a built-in kind is checked against its fields. Actions of plugins check their own. */
type Checked<R> = R extends { readonly kind: "wake" }
  ? Only<R, WakeOverride>
  : R extends { readonly kind: "agent" }
    ? Only<R, AgentOverride>
    : R extends object
      ? R
      : never;
/** Makes a misspelled field an error; plain assignability would accept it. */
type Only<R extends { readonly kind: unknown }, Fields> = Fields &
  Pick<R, "kind"> & {
    readonly [K in Exclude<keyof R, keyof Fields>]?: undefined;
  };

/** Declares a transform whose `payload` is typed and validated by a schema, and whose result is typed by its `kind`. */
export function defineTransform<P extends TSchema, const R = WakeOverride | AgentOverride>(
  module: TransformModule<P, R> & { readonly transform: Transform<Static<P>, Checked<R>> },
): TransformModule<P, R> {
  return Object.assign({ ...module }, { [TRANSFORM]: true });
}
