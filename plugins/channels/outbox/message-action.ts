/** Handler of `message.action`: sends messages and polls, reacts to messages and changes them, for clients that name the action. */
import {
  describeViolations,
  type Handlers,
  invalidRequest,
  matches,
  originOf,
  type ParamsOf,
  type Principal,
  type ResultOf,
  type Static,
  Strict,
  type TSchema,
  Type,
} from "@svc/sdk";
import type { outbound } from "@svc/sdk/channels";
import { checkEdit, edit, react, reactionOf } from "./changing.ts";
import { loadFiles } from "./outgoing-files.ts";
import type { PieceSources } from "./piece.ts";
import {
  type CheckedDestination,
  KEPT_MS,
  mirrorKeyOf,
  pollOf,
  resolve,
  sceneOf,
  sendOnce,
  type SendingSources,
  textOf,
} from "./sending.ts";

const text = Type.Optional(Type.String());
const flag = Type.Optional(Type.Boolean());
const Id = Type.Union([Type.String({ minLength: 1 }), Type.Number()]);
const Texts = Type.Union([Type.String(), Type.Array(Type.String())]);

/** Of every action. */
const Common = { to: text, target: text, accountId: text, threadId: Type.Optional(Id), dryRun: flag };
const Send = Strict({
  ...Common,
  message: text,
  media: Type.Optional(Texts),
  mediaUrl: text,
  mediaUrls: Type.Optional(Type.Array(Type.String())),
  replyTo: Type.Optional(Id),
  silent: flag,
});
const Poll = Strict({
  ...Common,
  pollQuestion: Type.String({ minLength: 1 }),
  pollOption: Type.Array(Type.String({ minLength: 1 }), { minItems: 2, maxItems: 12 }),
  pollMulti: flag,
  pollDurationSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 604_800 })),
  pollDurationHours: Type.Optional(Type.Integer({ minimum: 1 })),
  pollAnonymous: flag,
  silent: flag,
});
const React = Strict({ ...Common, messageId: Id, emoji: Type.String(), remove: flag });
const Edit = Strict({ ...Common, messageId: Id, message: Type.String({ minLength: 1 }) });

/** Repeated from the call itself, or about the output of the client. */
const IGNORED: ReadonlySet<string> = new Set(["channel", "action", "json", "verbose"]);

type Params = ParamsOf<typeof outbound.action>;
type Result = ResultOf<typeof outbound.action>;
type Sources = SendingSources & PieceSources;

/** A checked call. */
interface Asked {
  readonly params: Params;
  readonly principal: Principal;
  readonly destination: CheckedDestination;
  readonly threadId: string | undefined;
}

/** Fields of the result; `undefined`: a dry run. */
type Done = Pick<Result, "runId" | "messageId" | "chatId" | "pollId">;

interface Action {
  readonly schema: TSchema;
  /** Checks everything that needs no network, and returns what acts. @throws GatewayError */
  prepare(asked: Asked, fields: unknown, sources: Sources): () => Promise<Done>;
}

function action<S extends TSchema>(
  schema: S,
  prepare: (asked: Asked, fields: Static<S>, sources: Sources) => () => Promise<Done>,
): Action {
  return { schema, prepare: (asked, fields, sources) => prepare(asked, fields as Static<S>, sources) }; // by `fieldsOf`
}

const ACTIONS: Readonly<Record<string, Action>> = {
  send: action(Send, (asked, fields, sources) => {
    const urls = urlsOf(fields);
    const message = textOf(fields, urls.length);
    const replyTo = asked.params.reply?.replyToId ?? idOf(fields.replyTo);
    const extras = { ...(replyTo === undefined ? {} : { replyTo }), ...(fields.silent ? { silent: true } : {}) };
    return async () => {
      const files = await loadFiles(urls, sceneOf(asked.destination, sources));
      return deliver(asked, { text: message, files, extras }, sources);
    };
  }),

  poll: action(Poll, (asked, fields, sources) => {
    const { pollQuestion, pollOption, pollMulti, pollDurationSeconds, pollDurationHours, pollAnonymous } = fields;
    const wanted = {
      question: pollQuestion,
      options: pollOption,
      maxSelections: pollMulti ? pollOption.length : 1,
      ...(pollDurationSeconds === undefined ? {} : { durationSeconds: pollDurationSeconds }),
      ...(pollDurationHours === undefined ? {} : { durationHours: pollDurationHours }),
      ...(pollAnonymous === undefined ? {} : { isAnonymous: pollAnonymous }),
    };
    const poll = pollOf(wanted, asked.destination.contribution);
    const extras = { poll, ...(fields.silent ? { silent: true } : {}) };
    return () => deliver(asked, { text: "", extras }, sources);
  }),

  react: action(React, ({ destination, threadId }, { messageId: id, emoji: given, remove = false }, sources) => {
    const [emoji, messageId] = [reactionOf(given, destination), String(id)];
    return async () => {
      await react({ destination, threadId, messageId }, { emoji, remove }, sources);
      return { messageId };
    };
  }),

  edit: action(Edit, ({ destination, threadId }, { messageId: id, message }, sources) => {
    const [messageId, words] = [String(id), textOf({ message })];
    checkEdit(words, destination);
    return async () => {
      await edit({ destination, threadId, messageId }, words, sources);
      return { messageId };
    };
  }),
};

export function createMessageAction(sources: Sources): Pick<Handlers<typeof outbound>, "action"> {
  return {
    async action({ params, principal }): Promise<Result> {
      const known = Object.hasOwn(ACTIONS, params.action) ? ACTIONS[params.action] : undefined;
      const { schema, prepare } = known ?? refuseAction(params);
      const fields = fieldsOf(params.params, schema);
      const { to, target, accountId, threadId: thread, dryRun } = fields;
      const threadId = idOf(thread);
      const address = {
        channel: params.channel,
        to: target ?? to ?? invalidRequest("invalid message.action params: at /params: target is missing"),
        ...given("accountId", accountId ?? params.accountId),
        ...given("threadId", threadId),
      };
      const destination = await resolve(address, sources.accounts);
      const act = prepare({ params, principal, destination, threadId }, fields, sources);
      const { contribution, accountId: account, to: place } = destination;
      const where = { channel: contribution.id, accountId: account, to: place, ...given("threadId", threadId) };
      const done = { ok: true as const, action: params.action, ...where };
      return dryRun === true ? { ...done, dryRun: true } : { ...done, ...(await act()) };
    },
  };
}

/** Sent once for each idempotency key. */
async function deliver(
  { params, principal, destination, threadId }: Asked,
  letter: Pick<Parameters<typeof sendOnce>[0], "text" | "files" | "extras">,
  sources: Sources,
): Promise<Done> {
  const { idempotencyKey: runId, sessionKey, agentId } = params;
  const mirrored = { ...given("sessionKey", sessionKey), ...given("agentId", agentId), ...given("threadId", threadId) };
  const mirrorKey = await mirrorKeyOf(mirrored, destination, sources);
  const facts = { mirrorKey, origin: originOf(principal), forgottenBefore: sources.clock.now() - KEPT_MS };
  const sent = await sendOnce({ id: `action:${runId}`, destination, threadId, ...letter, ...facts }, sources);
  return { runId, messageId: sent.messageId ?? runId, chatId: sent.to, ...given("pollId", sent.pollId) };
}

type Fields = Static<ReturnType<typeof Type.Object<typeof Common>>>;

/** The fields that are set. @throws GatewayError `INVALID_REQUEST` for one that the action does not have */
function fieldsOf(params: Params["params"], schema: TSchema): Fields {
  const set = Object.entries(params).filter(
    ([key, value]) => !key.startsWith("__") && !IGNORED.has(key) && isSet(value),
  );
  const fields = Object.fromEntries(set);
  if (!matches(schema, fields))
    return invalidRequest(`invalid message.action params: in params ${describeViolations(schema, fields)}`);
  return fields as Fields; // every schema has these
}

/** Clients also send the options that nobody has set. */
function isSet(value: unknown): boolean {
  const isEmpty = value === undefined || value === null || value === false || value === "";
  return !isEmpty && !(Array.isArray(value) && value.length === 0);
}

function urlsOf({ media = [], mediaUrl = "", mediaUrls = [] }: Static<typeof Send>): readonly string[] {
  const all = [...(typeof media === "string" ? [media] : media), mediaUrl, ...mediaUrls];
  return [...new Set(all.map((url) => url.trim()).filter((url) => url !== ""))];
}

function idOf(id: string | number | undefined): string | undefined {
  return id === undefined ? undefined : String(id);
}

function given<K extends string>(key: K, value: string | undefined): { readonly [_ in K]?: string } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [_ in K]: string }); // its only key
}

function refuseAction({ action: wanted, channel }: Params): never {
  return invalidRequest(
    `Channel ${channel} does not support action ${wanted}; actions: ${Object.keys(ACTIONS).join(", ")}`,
  );
}
