/** Translates messages of the gateway to values of Discord's API, and addresses. Pure. */
import type {
  AllowedMentionsTypes,
  CreateMessageOptions,
  RESTPutAPIApplicationCommandsJSONBody,
} from "@discordjs/core";
import type { MenuCommand, MessageButton, MessagePoll, OutboundMessage } from "@svc/sdk/channels";

/** Characters of a nonce, buttons of a row, rows of a message, commands of a bot: limits of Discord. */
const NONCE_CHARS = 25;
const ROW_BUTTONS = 5;
const MAX_ROWS = 5;
const MAX_COMMANDS = 100;
const MAX_DESCRIPTION_CHARS = 100;

const SUPPRESS_NOTIFICATIONS = 1 << 12;
const [ROW, BUTTON, STRING_OPTION, CHAT_INPUT] = [1, 2, 3, 1] as const;
const STYLES = { primary: 1, secondary: 2, danger: 4 } as const;

/** People who are mentioned are notified; roles, @everyone and @here never are. */
export const ALLOWED_MENTIONS: CreateMessageOptions["allowed_mentions"] = {
  parse: ["users" as AllowedMentionsTypes.User],
}; // the enum would load the library

const ID = /^\d{17,20}$/;

/** The address of a channel is its id, that of a person `user:<id>`; `undefined`: not an address. */
export function addressOf(text: string): string | undefined {
  const given = text.trim();
  if (ID.test(given)) return given;
  const channel = /^(?:<#(\d+)>|channel:(\d+))$/i.exec(given);
  if (channel) return addressOf(channel[1] ?? channel[2] ?? "");
  const user = /^(?:<@!?(\d+)>|user:(\d+))$/i.exec(given);
  const id = user?.[1] ?? user?.[2];
  return id !== undefined && ID.test(id) ? `user:${id}` : undefined;
}

export function userIn(address: string): string | undefined {
  return address.startsWith("user:") ? address.slice("user:".length) : undefined;
}

/** Body of a message to create. */
export function toMessage(
  message: Omit<OutboundMessage, "settings" | "signal" | "accountId" | "to">,
): CreateMessageOptions {
  const { id, text, media, replyTo, buttons = [], poll, silent } = message;
  return {
    ...(text === "" ? {} : { content: text }),
    nonce: id.slice(0, NONCE_CHARS),
    enforce_nonce: true, // Discord then answers a repeated request with the message that it already has
    allowed_mentions: ALLOWED_MENTIONS,
    ...(replyTo === undefined ? {} : { message_reference: { message_id: replyTo, fail_if_not_exists: false } }),
    ...(buttons.length > 0 ? { components: toRows(buttons) } : {}),
    ...(poll ? { poll: toPoll(poll) } : {}),
    ...(silent ? { flags: SUPPRESS_NOTIFICATIONS } : {}),
    ...(media ? { files: [{ name: media.name, data: media.bytes, contentType: media.mimeType }] } : {}),
  };
}

type Rows = NonNullable<CreateMessageOptions["components"]>;

/** Keeps the rows if Discord accepts their number and length; fills them anew otherwise. */
export function toRows(buttons: readonly (readonly MessageButton[])[]): Rows {
  const rows = buttons.flatMap((row) => inRows(row));
  return (rows.length <= MAX_ROWS ? rows : inRows(buttons.flat())).map((row) => ({
    type: ROW,
    components: row.map(
      ({ label, value, style = "secondary" }: Omit<MessageButton, "style"> & { style?: keyof typeof STYLES }) => ({
        type: BUTTON,
        style: STYLES[style],
        label,
        custom_id: value,
      }),
    ),
  }));
}

function inRows(buttons: readonly MessageButton[]): (readonly MessageButton[])[] {
  const count = Math.ceil(buttons.length / ROW_BUTTONS);
  return Array.from({ length: count }, (_, at) => buttons.slice(at * ROW_BUTTONS, (at + 1) * ROW_BUTTONS));
}

/** Discord counts in hours, and closes a poll without a duration after a day. */
function toPoll({ question, options, maxSelections, seconds }: MessagePoll): NonNullable<CreateMessageOptions["poll"]> {
  return {
    question: { text: question },
    answers: options.map((text) => ({ poll_media: { text } })),
    allow_multiselect: maxSelections > 1,
    ...(seconds === undefined ? {} : { duration: Math.ceil(seconds / 3_600) }),
  };
}

/** Commands to register; each has the optional text `input`. */
export function toCommands(commands: readonly MenuCommand[]): RESTPutAPIApplicationCommandsJSONBody {
  return commands.slice(0, MAX_COMMANDS).map(({ name, description }) => ({
    type: CHAT_INPUT,
    name,
    description: (description.trim() || name).slice(0, MAX_DESCRIPTION_CHARS),
    options: [{ type: STRING_OPTION, name: "input", description: "Text after the command", required: false }],
  }));
}
