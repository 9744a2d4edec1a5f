/** A gateway with a channel that can do everything, and with a model whose requests a test can read. */
import type { TestContext } from "node:test";
import type { Plugin } from "@svc/sdk";
import type {
  Channel,
  ChannelAccess,
  ChannelCapabilities,
  MessageEdit,
  MessageReaction,
  OutboundMessage,
} from "@svc/sdk/channels";
import { type FakeModelReply, startFakeModelServer, type TestGatewayOptions } from "@svc/sdk/testing";
import { pigeon } from "./pigeon.ts";
import { startScene, until } from "./scene.ts";

const ALL: ChannelCapabilities = {
  chats: ["direct", "group"],
  maxTextChars: 1_000,
  markup: "html",
  threads: true,
  replies: true,
  media: ["image", "audio", "file"],
  maxMediaBytes: 1_000,
  maxCaptionChars: 20,
  voice: true,
  reactions: true,
  edits: true,
  editEveryMs: 20,
  typing: true,
  buttons: true,
  polls: { maxOptions: 3, multiple: true, maxSeconds: 600 },
};

export interface AbleOptions {
  readonly access?: ChannelAccess;
  readonly capabilities?: Partial<ChannelCapabilities>;
  readonly replies?: readonly FakeModelReply[];
  readonly more?: Partial<Channel>;
  readonly send?: (message: OutboundMessage) => Promise<{ messageId?: string; pollId?: string }>;
  readonly config?: object;
  readonly plugins?: readonly (Plugin | string)[];
  readonly gateway?: TestGatewayOptions["gateway"];
  readonly stateDir?: string;
}

/** A gateway with a channel that can do everything, and with a model. */
export async function able(t: TestContext, options: AbleOptions = {}) {
  const model = await startFakeModelServer({ replies: options.replies ?? [] });
  t.after(() => model.close());
  const messages: OutboundMessage[] = [];
  const edits: MessageEdit[] = [];
  const reactions: MessageReaction[] = [];
  let typings = 0;
  const send = async (message: OutboundMessage) => {
    const receipt = (await options.send?.(message)) ?? { messageId: `m${messages.length + 1}` };
    messages.push(message);
    return receipt;
  };
  const bird = pigeon({
    accounts: [{ allowFrom: ["ann"], ...options.access }],
    send,
    more: {
      capabilities: { ...ALL, ...options.capabilities },
      edit: async (edit) => void edits.push(edit),
      react: async (reaction) => void reactions.push(reaction),
      typing: async () => void (typings += 1),
      ...options.more,
    },
  });
  const scene = await startScene(
    t,
    ["provider-openai", "tools", "media", "outbound", ...(options.plugins ?? []), bird.plugin],
    {
      ...(options.gateway && { gateway: options.gateway }),
      ...(options.stateDir !== undefined && { stateDir: options.stateDir }),
      config: {
        agents: { defaults: { model: "fake/one", skipBootstrap: true } },
        models: { providers: { fake: { baseUrl: model.url, models: [{ id: "one", input: ["text", "image"] }] } } },
        ...options.config,
      },
    },
  );
  await until(() => bird.running.get("default"), "the account");
  /** What the model got with its last message. */
  const asked = () => JSON.stringify(model.requests.at(-1)?.body.messages?.at(-1)?.content ?? "");
  return { ...scene, bird, model, messages, edits, reactions, typings: () => typings, asked };
}
