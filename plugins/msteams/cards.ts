/** Attachments of sent messages, and what comes back from them. Pure. */
import { matches, type Static, Type } from "@svc/sdk";
import type { MessageButton, MessagePoll, OutboundMedia } from "@svc/sdk/channels";
import type { Consent } from "./activity.ts";

export interface Attachment {
  readonly contentType: string;
  readonly name?: string;
  readonly contentUrl?: string;
  readonly content?: object;
}

/** Data of a submitted card: what the card was sent with, and the inputs of the person. */
export const Submitted = Type.Union([
  Type.Object({ svc: Type.Literal("button"), value: Type.String({ minLength: 1 }), label: Type.String() }),
  Type.Object({
    svc: Type.Literal("poll"),
    poll: Type.String({ minLength: 1 }),
    options: Type.Array(Type.String(), { maxItems: 100 }),
    /** Maximum number of options. */
    most: Type.Number(),
    /** Indices, separated by commas; absent: nothing is selected. */
    choice: Type.Optional(Type.String({ maxLength: 400 })),
  }),
]);

function adaptive(body: readonly object[]): Attachment {
  const content = { type: "AdaptiveCard", version: "1.4", body };
  return { contentType: "application/vnd.microsoft.card.adaptive", content };
}

const STYLES = { primary: "positive", danger: "destructive" } as const;

/** One row of actions for each row of buttons. */
export function buttonCard(rows: readonly (readonly MessageButton[])[]): Attachment[] {
  const sets = rows
    .filter((row) => row.length > 0)
    .map((row) => ({
      type: "ActionSet",
      actions: row.map(({ label, value, style }) => ({
        type: "Action.Submit",
        title: label,
        ...(style ? { style: STYLES[style] } : {}),
        data: { svc: "button", value, label } satisfies Static<typeof Submitted>,
      })),
    }));
  return sets.length > 0 ? [adaptive(sets)] : [];
}

export function pollCard({ question, options, maxSelections }: MessagePoll, poll: string): Attachment {
  const data = { svc: "poll", poll, options: [...options], most: maxSelections } satisfies Static<typeof Submitted>;
  return adaptive([
    { type: "TextBlock", text: question, weight: "Bolder", wrap: true },
    {
      type: "Input.ChoiceSet",
      id: "choice",
      style: "expanded",
      wrap: true,
      isMultiSelect: maxSelections > 1,
      choices: options.map((title, index) => ({ title, value: String(index) })),
    },
    { type: "ActionSet", actions: [{ type: "Action.Submit", title: "Vote", data }] },
  ]);
}

/** The selected options of a submitted poll. */
export function chosenOf({ options, choice = "", most }: Extract<Static<typeof Submitted>, { svc: "poll" }>): string[] {
  const indices = choice.split(",").filter((index) => /^\d+$/.test(index));
  return [...new Set(indices)].flatMap((index) => options[Number(index)] ?? []).slice(0, Math.max(1, most));
}

export const submittedOf = (value: unknown) => (matches(Submitted, value) ? value : undefined);

/** A picture within the message. */
export function inlinePicture({ bytes, name, mimeType }: OutboundMedia): Attachment {
  return {
    contentType: mimeType,
    name,
    contentUrl: `data:${mimeType};base64,${Buffer.from(bytes).toString("base64")}`,
  };
}

/** Asks the person whether the file may be stored in their OneDrive. */
export function consentCard({ bytes, name }: OutboundMedia, fileId: string): Attachment {
  const context = { fileId } satisfies Consent["context"];
  return {
    contentType: "application/vnd.microsoft.teams.card.file.consent",
    name,
    content: {
      description: "A file from the agent",
      sizeInBytes: bytes.byteLength,
      acceptContext: context,
      declineContext: context,
    },
  };
}

/** Shows a stored file. */
export function fileCard({ contentUrl, name, uniqueId, fileType }: NonNullable<Consent["uploadInfo"]>): Attachment {
  return {
    contentType: "application/vnd.microsoft.teams.card.file.info",
    name,
    contentUrl,
    content: { uniqueId, ...(fileType === undefined ? {} : { fileType }) },
  };
}

const TAGS: Readonly<Record<string, string>> = { b: "strong", i: "em", s: "strike" };

/** HTML as Teams shows it: with tags for line breaks, and indentation that is not collapsed. @param html in the markup `html` of channels */
export function teamsHtml(html: string): string {
  return html
    .split(/(<pre>[^]*?<\/pre>)/)
    .map((part, index, parts) => {
      if (index % 2 === 1) return part;
      const lines = parts.length > 1 ? part.replace(/^\n+|\n+$/g, "") : part;
      return lines
        .replace(/<(\/?)([bis])>/g, (_tag, slash: string, name: string) => `<${slash}${TAGS[name]}>`)
        .replace(/\n( *)/g, (_line, indent: string) => `<br>${"&nbsp;".repeat(indent.length)}`);
    })
    .join("");
}
