/** Converts the items of `input` (messages, calls and outputs) to one shape. Pure. Spec: http/responses.md §3. */
import { type MediaSource, sourceOfUrl } from "@svc/kit/media";
import { isGatewayError, type Static, type TObject } from "@svc/sdk";
import { arrayAt, checked, objectAt, type Path, refuse } from "./check.ts";
import { FileSource, ImageSource, ITEMS, PARTS, UrlSource } from "./schema.ts";

/** A picture or file to load. */
export interface MediaPart {
  readonly kind: "image" | "file";
  readonly source: MediaSource;
  /** File name; absent for images. */
  readonly name?: string;
  readonly path: Path;
}
export type Part = { readonly kind: "text"; readonly text: string } | MediaPart;

export type Item =
  | { readonly kind: "message"; readonly role: "user" | "assistant" | "system"; readonly parts: readonly Part[] }
  | {
      readonly kind: "call";
      readonly callId: string;
      readonly name: string;
      readonly arguments: Readonly<Record<string, unknown>>;
    }
  | { readonly kind: "output"; readonly callId: string; readonly parts: readonly Part[] }
  | { readonly kind: "reference"; readonly id: string };

/** @throws GatewayError `INVALID_REQUEST` naming the position */
export function itemsOf(input: unknown): readonly Item[] {
  if (typeof input === "string") return [{ kind: "message", role: "user", parts: [{ kind: "text", text: input }] }];
  if (!Array.isArray(input)) refuse(["input"], "must be a string or an array of items");
  return arrayAt(input, ["input"]).flatMap((item, index) => itemOf(item, ["input", index]));
}

function itemOf(value: unknown, path: Path): Item[] {
  const item = objectAt(value, path);
  switch (item["type"] ?? ("role" in item ? "message" : "item_reference")) {
    case "message":
      return [message(checked(ITEMS.message, item, path), path)];
    case "function_call":
      return [call(checked(ITEMS.function_call, item, path), path)];
    case "function_call_output": {
      const { call_id, output } = checked(ITEMS.function_call_output, item, path);
      return [{ kind: "output", callId: call_id, parts: partsOf(output, [...path, "output"]) }];
    }
    case "reasoning":
      checked(ITEMS.reasoning, item, path);
      return [];
    case "item_reference":
      return [{ kind: "reference", id: checked(ITEMS.item_reference, item, path).id }];
    default:
      return refuse([...path, "type"], `${unknownType(item)}; supported: ${Object.keys(ITEMS).join(", ")}`);
  }
}

function message({ role, content }: Static<typeof ITEMS.message>, path: Path): Item {
  const parts = partsOf(content, [...path, "content"]);
  return { kind: "message", role: role === "developer" ? "system" : role, parts };
}

/**
 * Choice: a call without `call_id` gets the call's `id`. A call without both cannot be answered, and gets an id from
 * its position.
 */
function call({ id, call_id, name, arguments: text }: Static<typeof ITEMS.function_call>, path: Path): Item {
  return { kind: "call", callId: call_id ?? id ?? `call_${path.join("_")}`, name, arguments: argumentsIn(text, path) };
}

function argumentsIn(text: string, path: Path): Readonly<Record<string, unknown>> {
  if (text.trim() === "") return {};
  const at: Path = [...path, "arguments"];
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    refuse(at, "must be the JSON text of an object");
  }
  return objectAt(value, at);
}

function partsOf(content: unknown, path: Path): readonly Part[] {
  if (typeof content === "string") return [{ kind: "text", text: content }];
  if (!Array.isArray(content)) refuse(path, "must be a string or an array of parts");
  return arrayAt(content, path).map((part, index) => partOf(part, [...path, index]));
}

function partOf(value: unknown, path: Path): Part {
  const part = objectAt(value, path);
  switch (part["type"]) {
    case "input_text":
      return { kind: "text", text: checked(PARTS.input_text, part, path).text };
    case "output_text":
      return { kind: "text", text: checked(PARTS.output_text, part, path).text };
    case "refusal":
      return { kind: "text", text: checked(PARTS.refusal, part, path).refusal };
    case "input_image":
      return image(checked(PARTS.input_image, part, path), path);
    case "input_file":
      return file(checked(PARTS.input_file, part, path), path);
    default:
      return refuse([...path, "type"], `${unknownType(part)}; supported: ${Object.keys(PARTS).join(", ")}`);
  }
}

function unknownType({ type }: Readonly<Record<string, unknown>>): string {
  return typeof type === "string" ? `${type.slice(0, 64)} is not supported` : "is required";
}

function image({ image_url, source, file_id }: Static<typeof PARTS.input_image>, path: Path): MediaPart {
  refuseFileId(file_id, path);
  requireOne({ image_url, source }, path);
  if (image_url !== undefined) return { kind: "image", source: urlSource(image_url, [...path, "image_url"]), path };
  return { kind: "image", ...sourceIn(source, ImageSource, path), path };
}

function file(
  { file_data, file_url, source, file_id, filename }: Static<typeof PARTS.input_file>,
  path: Path,
): MediaPart {
  refuseFileId(file_id, path);
  requireOne({ file_data, file_url, source }, path);
  const named = filename === undefined ? {} : { name: filename };
  if (file_url !== undefined) {
    return { kind: "file", source: urlSource(file_url, [...path, "file_url"]), ...named, path };
  }
  if (file_data !== undefined) return { kind: "file", source: dataSource(file_data, filename, path), ...named, path };
  return { kind: "file", ...named, ...sourceIn(source, FileSource, path), path };
}

function refuseFileId(id: string | undefined, path: Path): void {
  if (id !== undefined) refuse([...path, "file_id"], "files are not stored; send the content, or a URL");
}

/** @throws GatewayError `INVALID_REQUEST` unless exactly one field is given */
function requireOne(fields: Readonly<Record<string, unknown>>, path: Path): void {
  const given = Object.values(fields).filter((value) => value !== undefined).length;
  if (given !== 1) refuse(path, `needs exactly one of ${Object.keys(fields).join(", ")}`);
}

/** Reads the older shape with `source` objects. */
function sourceIn(
  value: unknown,
  base64: typeof ImageSource | typeof FileSource,
  path: Path,
): { readonly source: MediaSource; readonly name?: string } {
  const at: Path = [...path, "source"];
  const source = objectAt(value, at);
  if (source["type"] === "url") {
    return { source: urlSource(checked(UrlSource, source, at).url, [...at, "url"]) };
  }
  if (source["type"] !== "base64") refuse([...at, "type"], 'must be "url" or "base64"');
  const { data, media_type, filename } = checked<TObject>(base64, source, at) as Static<typeof FileSource>; // `ImageSource` has no filename
  return {
    source: { type: "base64", data, mimeType: media_type },
    ...(filename === undefined ? {} : { name: filename }),
  };
}

function urlSource(url: string, path: Path): MediaSource {
  try {
    return sourceOfUrl(url);
  } catch (error) {
    return refuse(path, isGatewayError(error) ? error.message : "is not a URL");
  }
}

const TYPES: Readonly<Record<string, string>> = {
  pdf: "application/pdf",
  txt: "text/plain",
  md: "text/markdown",
  html: "text/html",
  htm: "text/html",
  csv: "text/csv",
  json: "application/json",
};

/** A data URL, or base64 with the type derived from the file name. */
function dataSource(data: string, filename: string | undefined, path: Path): MediaSource {
  const at: Path = [...path, "file_data"];
  if (/^data:/i.test(data)) return urlSource(data, at);
  const extension = /\.([a-z0-9]+)$/i.exec(filename ?? "")?.[1]?.toLowerCase() ?? "";
  const mimeType = Object.hasOwn(TYPES, extension) ? TYPES[extension] : undefined;
  if (mimeType === undefined)
    refuse(at, "its type is unknown; send data:<type>;base64,<text>, or a filename with a known extension");
  return { type: "base64", data, mimeType };
}
