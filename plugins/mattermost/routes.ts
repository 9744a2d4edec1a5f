/** HTTP requests of the Mattermost server: pressed buttons and the slash command. */
import { refusedCommand } from "@svc/kit/channels";
import { isSameSecret } from "@svc/kit/secret";
import { matches, parseJsonBody, type RouteReply, type RouteRequest, Type, unavailable } from "@svc/sdk";
import type { ChannelAccount, InboundMessage, Receipt } from "@svc/sdk/channels";
import { find, type RequestContext } from "./api.ts";
import { signatureOf } from "./buttons.ts";
import type { Settings } from "./config.ts";
import { isId } from "./events.ts";
import type { LiveAccount } from "./run.ts";
import { chatOf, digest } from "./translate.ts";

export interface RouteSources {
  readonly accounts: readonly ChannelAccount<Settings>[];
  readonly live: ReadonlyMap<string, LiveAccount>;
  readonly clock: RequestContext["clock"];
}

type Request = Pick<RouteRequest<unknown>, "params" | "rawBody" | "signal">;

/** `UNAVAILABLE` of `receive` is the reply too: the server shows an error, and the person repeats the request. */
export interface Routes {
  /** A pressed button. */
  action(request: Request): Promise<RouteReply>;
  /** A use of the slash command. */
  command(request: Request): Promise<RouteReply>;
}

const Press = Type.Object({
  user_id: Type.String(),
  channel_id: Type.String(),
  post_id: Type.Optional(Type.String()),
  trigger_id: Type.Optional(Type.String()),
  context: Type.Object({ value: Type.String(), label: Type.String(), sig: Type.String() }),
});

const UNAUTHORIZED: RouteReply = { status: 401, body: { error: "unauthorized" } };

export function createRoutes({ accounts, live, clock }: RouteSources): Routes {
  const settingsOf = ({ params }: Request) => accounts.find(({ id }) => id === params["account"])?.settings;
  /** @throws GatewayError `UNAVAILABLE` */
  const running = ({ params }: Request) =>
    live.get(params["account"] ?? "") ?? unavailable("the Mattermost account is not running", { retryAfterMs: 1_000 });

  return {
    async action(request) {
      const settings = settingsOf(request);
      const press = parseJsonBody(request.rawBody);
      if (!settings?.botToken || !matches(Press, press)) return UNAUTHORIZED;
      const { user_id: userId, channel_id: channelId, post_id: postId = "", trigger_id: trigger = "", context } = press;
      if (!isSameSecret(context.sig, signatureOf(settings.botToken, channelId, context))) return UNAUTHORIZED;
      if (!isId(userId)) return UNAUTHORIZED;
      const { directory, run } = running(request);
      const asked = { clock, signal: request.signal };
      const isMember = await find(settings, asked, (client) => client.getChannelMember(channelId, userId));
      const person = await directory.person(userId);
      const channel = await directory.channel(channelId);
      const post = isId(postId) ? await directory.post(postId) : undefined;
      const isElsewhere = post !== undefined && post.channel_id !== channelId;
      if (!isMember || !person || person.isBot || !channel || isElsewhere) return UNAUTHORIZED;
      const sender = { id: userId, name: person.name };
      await run.receive({
        ...(trigger === "" ? {} : { id: `press:${digest(trigger)}` }),
        ...(isId(postId) ? { messageId: postId } : {}),
        chat: chatOf(channelId, channel, sender, post?.root_id),
        sender,
        text: context.label,
        mentioned: true,
        event: { kind: "button", value: context.value, ...(isId(postId) ? { messageId: postId } : {}) },
      });
      return { body: {} };
    },

    async command(request) {
      const token = settingsOf(request)?.slashCommandToken;
      const form = new URLSearchParams(Buffer.from(request.rawBody).toString("utf8"));
      const field = (name: string) => form.get(name) ?? "";
      if (token === undefined || !isSameSecret(field("token"), token)) return UNAUTHORIZED;
      const [userId, channelId, trigger] = [field("user_id"), field("channel_id"), field("trigger_id")];
      if (!isId(userId) || !isId(channelId)) return UNAUTHORIZED;
      const { directory, run } = running(request);
      const channel = await directory.channel(channelId);
      if (!channel) return ephemeral("The agent cannot answer here. Add its bot to this channel first.");
      const sender = { id: userId, name: (await directory.person(userId))?.name ?? field("user_name") };
      const message: InboundMessage = {
        ...(trigger === "" ? {} : { id: `command:${digest(trigger)}` }),
        chat: chatOf(channelId, channel, sender),
        sender,
        text: commandOf(
          field("text"),
          run.commands.map((command) => command.name),
        ),
        mentioned: true,
      };
      return ephemeral(answerTo(await run.receive(message), message.text));
    },
  };
}

/** `status` -> `/status`, if it is one of the commands; other words are a text for the agent; nothing -> `/help`. */
export function commandOf(text: string, commands: readonly string[]): string {
  const words = text.trim().replace(/^\/+/, "");
  if (words === "") return "/help";
  return commands.includes(words.split(/\s/, 1)[0]?.toLowerCase() ?? "") ? `/${words}` : words;
}

/** Shown only to the person who used the command. */
function ephemeral(text: string): RouteReply {
  return { body: { response_type: "ephemeral", text } };
}

function answerTo(receipt: Receipt, text: string): string {
  return refusedCommand(receipt) ?? `\`${text.replaceAll("`", "'")}\` was sent to the agent.`;
}
