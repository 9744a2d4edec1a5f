/** The `SetupPart` extension point: what plugins add to the guided setup. Plain data and promises only. */
import type { Principal } from "../principal.ts";
import { defineExtensionPoint } from "../service.ts";

/** A choice of a question. */
export interface SetupOption {
  /** JSON value, unique in the question. */
  readonly value: string | number | boolean;
  readonly label: string;
  readonly hint?: string;
}

/** One question. `title` and `message` are for people. */
export type SetupQuestion = { readonly title?: string; readonly message: string } & (
  | { readonly kind: "note" }
  | {
      readonly kind: "text";
      readonly placeholder?: string;
      readonly initial?: string;
      /** The answer is not shown. Default false. */
      readonly sensitive?: boolean;
    }
  | { readonly kind: "confirm"; readonly initial?: boolean }
  | { readonly kind: "select"; readonly options: readonly SetupOption[]; readonly initial?: SetupOption["value"] }
  | {
      readonly kind: "multiselect";
      readonly options: readonly SetupOption[];
      readonly initial?: readonly SetupOption["value"][];
    }
);

/** Answer by kind: `note`: `undefined`; `text`: a string; `confirm`: a boolean; `select`: a value; `multiselect`: values. */
export type SetupAnswer = undefined | SetupOption["value"] | readonly SetupOption["value"][];

/** What a part wants next. */
export type SetupStep =
  /** Ask, then call `next` with the answer and `state`, which is JSON, kept in memory and not shown. */
  | { readonly ask: SetupQuestion; readonly state?: unknown }
  /** The part has ended. */
  | {
      readonly done: true;
      /** One line for people: what was set up, or why the part was skipped. */
      readonly message?: string;
      /** Merge patch of the whole configuration (RFC 7396); written before the next part starts. */
      readonly config?: Readonly<Record<string, unknown>>;
    };

/** Values that a part works with. */
export interface SetupCall {
  /** The principal that runs the setup; holds `operator.admin`. */
  readonly principal: Principal;
  /** The configuration as written, with secrets redacted. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Workspace directory of the default agent that the caller of the setup asked for, as given. */
  readonly workspace?: string;
  readonly signal: AbortSignal;
}

/**
 * One part of the guided setup. Parts run by `order`, then by id. A part asks as little as possible: it offers what is
 * already set up as the first choice, so that a setup that was interrupted can be repeated.
 */
export interface SetupPart {
  /** Title of the part. */
  readonly title: string;
  /**
   * Position: 50 moving in, 100 access to the gateway, 150 workspace, 200 model provider, 300 model, 400 channels, 500 webhooks, 600 skills, 700
   * service of the operating system, 900 the first message.
   */
  readonly order: number;
  /**
   * Each call of a part has 5 minutes. A person may repeat or skip a part that fails.
   *
   * @throws GatewayError its message is shown to the person
   */
  start(call: SetupCall): Promise<SetupStep>;
  /**
   * To repeat a question, return it again with the reason in `message`.
   *
   * @throws GatewayError `INVALID_REQUEST` ends the whole setup with its message; every other error ends only the part
   */
  next(call: SetupCall & { readonly state: unknown; readonly answer: SetupAnswer }): Promise<SetupStep>;
}

/** Data of a part, and its code as `load` imports it on first use. */
export function lazySetupPart(
  facts: Pick<SetupPart, "title" | "order">,
  load: () => Promise<Pick<SetupPart, "start" | "next">>,
): SetupPart {
  return {
    ...facts,
    start: async (call) => (await load()).start(call),
    next: async (call) => (await load()).next(call),
  };
}

/** Token of the extension point. */
export const SetupPart = defineExtensionPoint<SetupPart>("wizard.part", {
  summary:
    "Parts of the guided setup. Owned by the plugin `wizard`; contributed by every plugin that people set up first.",
  remotable: true,
});
