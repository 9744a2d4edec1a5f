/** The chat that an adapter hands its messages to: the gateway, instead of the class of the library. */
import type { Adapter, ChatInstance, Logger as AdapterLogger, Message } from "chat";
import { submitted } from "@svc/kit/channels";
import { type Clock, type Logger, messageOf, unavailable } from "@svc/sdk";
import type { ChannelRun, InboundMessage } from "@svc/sdk/channels";
import type { Settings } from "./config.ts";
import { redacted } from "./failures.ts";
import { deliveries, type State } from "./state.ts";
import { type RefOf, type StoredButton, toButton, toCommand, toDeletion, toInbound, toReaction } from "./translate.ts";

const MAX_LINE_CHARS = 500;

/** Lines of an adapter, at debug and without their values: those may be words of people. */
export function loggerOf(log: Pick<Logger, "debug">, account: string, settings: Settings): AdapterLogger {
  const line = (message: string) =>
    log.debug({ account }, `adapter: ${redacted(message, settings).slice(0, MAX_LINE_CHARS)}`);
  const logger: AdapterLogger = { child: () => logger, debug: line, info: line, warn: line, error: line };
  return logger;
}

export interface ChatSources {
  readonly run: Pick<ChannelRun<Settings>, "accountId" | "settings" | "receive" | "alive">;
  readonly adapter: Adapter;
  readonly logger: AdapterLogger;
  readonly state: State;
  readonly clock: Clock;
  readonly log: Logger;
  readonly refOf: RefOf;
  /** Aborts when the adapter must end, also if it does not. */
  readonly over: AbortSignal;
}

/** Keys below which the plugin itself stores what it needs. */
export const directKey = (userId: string) => `svc:direct:${userId}`;
export const buttonKey = (id: string) => `svc:button:${id}`;

/** Its functions resolve when the gateway has the message, or refuses it. They reject if the adapter must hand it over again. */
export function createChat({ run, adapter, logger, state, clock, log, refOf, over }: ChatSources): ChatInstance {
  const { accountId: account, settings, receive } = run;
  const reasonOf = (error: unknown) => redacted(messageOf(error), settings);

  /** @param threadId of the message; answers to a person go there */
  function submit(threadId: string, read: () => Promise<InboundMessage | undefined>): Promise<void> {
    const store = deliveries.getStore();
    const delivery = store?.isOver ? undefined : store; // connections outlive the request that has opened them
    const work = (async () => {
      const message = await read();
      if (over.aborted) unavailable("the account was stopped");
      run.alive();
      if (!message) return;
      if (message.chat.type === "direct") await keepDirect(message.sender.id, threadId);
      await submitted({ receive, signal: delivery?.signal ?? over }, message, { clock, log });
    })();
    work.catch((error: unknown) => log.info({ account, reason: reasonOf(error) }, "a message was not accepted"));
    delivery?.messages.push(work);
    return work;
  }

  async function keepDirect(userId: string, threadId: string): Promise<void> {
    const key = directKey(userId);
    if ((await state.get(key)) !== threadId) await state.set(key, threadId);
  }

  /** A message that cannot be read would be the same again. */
  function readable(work: () => InboundMessage | undefined): InboundMessage | undefined {
    try {
      return work();
    } catch (error) {
      log.warn({ account, reason: reasonOf(error) }, "a malformed message of an adapter was skipped");
      return undefined;
    }
  }

  const accept = (threadId: string, message: Message | (() => Promise<Message>), isEdit: boolean) =>
    submit(threadId, async () => {
      const given = typeof message === "function" ? await message() : message;
      return readable(() => toInbound(adapter, threadId, given, { refOf, isEdit }));
    });

  const chat: Partial<ChatInstance> = {
    getLogger: () => logger,
    getState: () => state,
    getUserName: () => "bot",
    abortTurn: async () => {},
    processMessage: (_, threadId, message) => accept(threadId, message, false),
    handleIncomingMessage: (_, threadId, message) => accept(threadId, message, false),
    processMessageUpdated: ({ threadId, message }) => accept(threadId, message, true),
    processMessageDeleted: (event) => submit(event.threadId, async () => readable(() => toDeletion(adapter, event))),
    processReaction: (event) => submit(event.threadId, async () => readable(() => toReaction(adapter, event))),
    processAction: (event) =>
      submit(event.threadId, async () => {
        const button = await state.get<StoredButton>(buttonKey(event.actionId));
        return readable(() => toButton(adapter, event, button ?? undefined));
      }),
    processSlashCommand: (event) => submit(event.channelId, async () => readable(() => toCommand(adapter, event))),
  };
  // Also events of versions of the library that this plugin does not know.
  return new Proxy(chat, {
    get(target, key) {
      if (key in target || !String(key).startsWith("process")) return Reflect.get(target, key) as unknown;
      return async () => log.debug({ account, event: String(key) }, "an event of an adapter has no meaning here");
    },
  }) as ChatInstance; // the history of the library is left out
}
