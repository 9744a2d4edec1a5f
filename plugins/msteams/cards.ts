/** Attachments of sent messages, and what people submit with them. Pure. */
import { matches, type Static, Type } from "@svc/sdk";
import type { MessageButton, MessagePoll, OutboundMedia } from "@svc/sdk/channels";
import type { UploadInfo } from "./activity.ts";

const Filled = Type.String({ minLength: 1, maxLength: 400 });
const Pressed = Type.Object({ svc: Type.Literal("button"), value: Filled, label: Type.String() });
/** `most`: maximum number of selected options; `choice`: their indices, separated by commas; absent: none. */
const Voted = Type.Object({
  svc: Type.Literal("poll"),
  poll: Filled,
  options: Type.Array(Type.String(), { maxItems: 100 }),
  most: Type.Number(),
  choice: Type.Optional(Filled),
});

/** Data of a card with buttons or a poll that a person submitted. */
export const submittedOf = (data: unknown) => (matches(Pressed, data) || matches(Voted, data) ? data : undefined);

/** The selected options of a poll. */
export function chosenOf({ options, choice = "", most }: Static<typeof Voted>): string[] {
  const indices = choice.split(",").filter((index) => /^\d+$/.test(index));
  return [...new Set(indices)].flatMap((index) => options[Number(index)] ?? []).slice(0, Math.max(1, most));
}

export function buttonCard(rows: readonly (readonly MessageButton[])[]): object[] {
  const actionOf = ({ label, value, style }: MessageButton) => {
    const data: Static<typeof Pressed> = { svc: "button", value, label };
    const color = style && { style: style === "danger" ? "destructive" : "positive" };
    return { type: "Action.Submit", title: label, ...color, data };
  };
  const body = rows.flatMap((row) => (row.length > 0 ? [{ type: "ActionSet", actions: row.map(actionOf) }] : []));
  return body.length > 0 ? [adaptive(body)] : [];
}

export function pollCard({ question, options, maxSelections: most }: MessagePoll, poll: string): object {
  const data: Static<typeof Voted> = { svc: "poll", poll, options: [...options], most };
  const choices = options.map((title, index) => ({ title, value: String(index) }));
  return adaptive([
    { type: "TextBlock", text: question, weight: "Bolder", wrap: true },
    { type: "Input.ChoiceSet", id: "choice", style: "expanded", wrap: true, isMultiSelect: most > 1, choices },
    { type: "ActionSet", actions: [{ type: "Action.Submit", title: "Vote", data }] },
  ]);
}

const CARD = { contentType: "application/vnd.microsoft.card.adaptive" };
const adaptive = (body: readonly object[]) => ({ ...CARD, content: { type: "AdaptiveCard", version: "1.4", body } });

export function inlinePicture({ bytes, name, mimeType }: OutboundMedia): object {
  const contentUrl = `data:${mimeType};base64,${Buffer.from(bytes).toString("base64")}`;
  return { contentType: mimeType, name, contentUrl };
}

/** Asks the person whether the file may be stored in their OneDrive. */
export function consentCard({ bytes, name }: OutboundMedia, fileId: string): object {
  const context = { acceptContext: { fileId }, declineContext: { fileId } };
  const content = { description: "A file from the agent", sizeInBytes: bytes.byteLength, ...context };
  return { contentType: "application/vnd.microsoft.teams.card.file.consent", name, content };
}

/** Shows a stored file. */
export function fileCard({ contentUrl, name, uniqueId, fileType }: UploadInfo): object {
  const contentType = "application/vnd.microsoft.teams.card.file.info";
  return { contentType, name, contentUrl, content: { uniqueId, fileType } };
}

const TAGS = new Map(Object.entries({ b: "strong", i: "em", s: "strike" }));

/** Texts in the markup `html`, with tags for line breaks, and indentation that is not collapsed. */
export function teamsHtml(html: string): string {
  const inTags = (part: string) =>
    part
      .replace(/<(\/?)([bis])>/g, (_tag, slash: string, name: string) => `<${slash}${TAGS.get(name)}>`)
      .replace(/\n( *)/g, (_line, indent: string) => `<br>${"&nbsp;".repeat(indent.length)}`);
  const parts = html.split(/\n*(<pre>[^]*?<\/pre>)\n*/);
  return parts.map((part, index) => (index % 2 === 1 ? part : inTags(part))).join("");
}
