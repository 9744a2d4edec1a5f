/** Reads the content of one message: a text, or parts. Pure. Spec: http/chat-completions.md §4 rule 2. */
import type { TextBlock } from "@svc/sdk/models";
import { refuseField } from "./refusals.ts";

/** An image as sent. The image is checked later. */
export interface ImagePart {
  readonly type: "image_url";
  /** `data:`, `http:` or `https:`. */
  readonly url: string;
  /** Position in the request, for error messages. */
  readonly param: string;
}

export type Part = TextBlock | ImagePart;

/** Role that decides which parts are allowed in addition to text. */
export type Speaker = "user" | "assistant" | "other";

type Fields = Readonly<Record<string, unknown>>;

export function fieldsOf(value: unknown, param: string): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return refuseField(param, "must be an object");
  return value as Fields; // just checked
}

/** Empty texts are left out. @throws GatewayError `INVALID_REQUEST` naming the part */
export function readContent(content: unknown, param: string, speaker: Speaker): readonly Part[] {
  if (content === undefined || content === null || content === "") return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (!Array.isArray(content)) return refuseField(param, "must be a text or a list of parts");
  return content
    .map((part, index) => readPart(part, `${param}[${index}]`, speaker))
    .filter((part) => part.type !== "text" || part.text !== "");
}

const NOT_TAKEN: Readonly<Record<string, string>> = {
  input_audio: "audio is not supported; send its transcript as text",
  file: "files are not supported; send their text, or use POST /v1/responses",
  image_url: "images are supported in messages of the user only",
  refusal: "refusals are supported in messages of the assistant only",
};

function readPart(part: unknown, param: string, speaker: Speaker): Part {
  const fields = fieldsOf(part, param);
  const { type } = fields;
  if (type === "text" || type === "input_text") return { type: "text", text: textIn(fields["text"], `${param}.text`) };
  if (typeof fields["input_text"] === "string") return { type: "text", text: fields["input_text"] };
  if (type === "image_url" && speaker === "user") return readImage(fields["image_url"], `${param}.image_url`);
  if (type === "refusal" && speaker === "assistant")
    return { type: "text", text: textIn(fields["refusal"], `${param}.refusal`) };
  const why = typeof type === "string" && Object.hasOwn(NOT_TAKEN, type) ? NOT_TAKEN[type] : undefined;
  return refuseField(`${param}.type`, why ?? `unknown part type ${JSON.stringify(type) ?? "undefined"}`);
}

/** Choice: `image_url` may also be the URL itself instead of an object with the URL, as in other APIs. */
function readImage(image: unknown, param: string): ImagePart {
  if (typeof image === "string") return imageAt(image, param);
  const { url } = fieldsOf(image, param);
  return imageAt(textIn(url, `${param}.url`), `${param}.url`);
}

function imageAt(url: string, param: string): ImagePart {
  if (!/^(?:data:|https?:\/\/)/i.test(url)) refuseField(param, "must be a data URL or an http(s) URL");
  return { type: "image_url", url, param };
}

function textIn(value: unknown, param: string): string {
  return typeof value === "string" ? value : refuseField(param, "must be a text");
}

/** The texts of parts, joined by line breaks. */
export function joinedText(parts: readonly Part[]): string {
  return parts.flatMap((part) => (part.type === "text" ? part.text : [])).join("\n");
}
