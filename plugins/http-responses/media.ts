/** Loads all pictures and files of a request before its run. Spec: http/responses.md §4. */
import { loadMedia, type MediaLimits } from "@svc/kit/media";
import { AnySignal } from "@svc/kit/time";
import { invalidRequest, isGatewayError } from "@svc/sdk";
import { detailsCode } from "@svc/sdk/errors";
import type { Documents } from "@svc/sdk/media";
import type { ImageBlock } from "@svc/sdk/models";
import type { OutboundFetch, OutboundRefusalCode } from "@svc/sdk/web";
import { refuse } from "./check.ts";
import type { ResponsesConfig } from "./config.ts";
import { fileBlock, fileName } from "./file-block.ts";
import type { Item, MediaPart, Part } from "./items.ts";

/** Services and settings. Parts that need an absent service are refused. */
export interface MediaSources {
  readonly config: Pick<ResponsesConfig, "files" | "images" | "maxUrlParts">;
  readonly documents: Documents | undefined;
  readonly outbound: OutboundFetch | undefined;
}

/** A part in the format for models. */
export type LoadedPart =
  | { readonly kind: "text"; readonly text: string }
  | {
      readonly kind: "image";
      readonly image: ImageBlock;
      /** The picture was fetched by URL. */
      readonly isFetched?: true;
    }
  | {
      readonly kind: "file";
      readonly name: string;
      /** Text for the system prompt. */
      readonly block: string;
      readonly images: readonly ImageBlock[];
    };

/** An item with all media loaded. */
export type LoadedItem =
  | { readonly kind: "message"; readonly role: "user" | "assistant" | "system"; readonly parts: readonly LoadedPart[] }
  | { readonly kind: "output"; readonly callId: string; readonly parts: readonly LoadedPart[] }
  | Extract<Item, { kind: "call" }>;

type Unloaded = Exclude<Item, { kind: "reference" }>;

/** @throws GatewayError `INVALID_REQUEST` naming the part and its fault; the signal's reason */
export async function loadItems(
  items: readonly Unloaded[],
  sources: MediaSources,
  signal: AbortSignal,
): Promise<readonly LoadedItem[]> {
  const { maxUrlParts } = sources.config;
  const media = items.flatMap((item) => ("parts" in item ? item.parts.filter(({ kind }) => kind !== "text") : []));
  const urls = media.filter(isUrl).length;
  if (urls > maxUrlParts) refuse(["input"], `${urls} URLs are too many; at most ${maxUrlParts} are allowed`);
  const ending = new AnySignal(signal);
  try {
    return await Promise.all(
      items.map(async (item): Promise<LoadedItem> => {
        if (!("parts" in item)) return item;
        return { ...item, parts: await Promise.all(item.parts.map((part) => loadPart(part, sources, ending.signal))) };
      }),
    );
  } catch (error) {
    ending.abort(); // the other parts are no longer needed
    throw error;
  } finally {
    ending.release();
  }
}

function isUrl(part: Part): boolean {
  return part.kind !== "text" && part.source.type === "url";
}

async function loadPart(part: Part, sources: MediaSources, signal: AbortSignal): Promise<LoadedPart> {
  if (part.kind === "text") return part;
  try {
    return await (part.kind === "image" ? loadImage(part, sources, signal) : loadFile(part, sources, signal));
  } catch (error) {
    if (isGatewayError(error) && !signal.aborted) refuse(part.path, error.message);
    throw error;
  }
}

async function loadImage(part: MediaPart, sources: MediaSources, signal: AbortSignal): Promise<LoadedPart> {
  const { documents, config } = sources;
  const { bytes, mimeType } = await loadMedia(part.source, config.images, saidSafely(sources, config.images), signal);
  // Without the service `Documents`, the declared type is trusted.
  const declared = (): ImageBlock => ({ type: "image", data: Buffer.from(bytes).toString("base64"), mimeType });
  const image = documents ? await documents.image(bytes) : declared();
  return { kind: "image", image, ...(part.source.type === "url" ? { isFetched: true } : {}) };
}

async function loadFile(part: MediaPart, sources: MediaSources, signal: AbortSignal): Promise<LoadedPart> {
  const { documents, config } = sources;
  if (!documents) invalidRequest("files cannot be read: the plugin `media` is not running");
  const { files } = config;
  const loaded = await loadMedia(part.source, files, saidSafely(sources, files), signal);
  const document = await documents.read(loaded, { maxChars: files.maxChars, pdf: files.pdf }, signal);
  const name = fileName(part.name);
  const block = fileBlock(name, document, part.source.type === "url" ? "web fetch" : "api");
  return { kind: "file", name, block, images: document.images };
}

const REFUSALS: Readonly<Record<OutboundRefusalCode, string>> = {
  URL_INVALID: "the URL cannot be fetched: only http and https without user name or password are allowed",
  HOST_NOT_ALLOWED: "the URL is not in urlAllowlist: its host, or its path where an entry has one, does not match",
  ADDRESS_NOT_PUBLIC: "the URL does not lead to a public address",
  TOO_MANY_REDIRECTS: "the URL is redirected too often",
  REDIRECT_INVALID: "the URL has an invalid redirect",
  TOO_LARGE: "the content of the URL is too large",
};

/** Fetches a URL. Errors contain only what the sender may know: no resolved address, no text of a server. */
function saidSafely({ outbound }: MediaSources, { maxBytes }: MediaLimits): OutboundFetch | undefined {
  return (
    outbound && {
      async fetch(request) {
        try {
          return await outbound.fetch(request);
        } catch (error) {
          if (!isGatewayError(error)) throw error;
          const code = detailsCode(error);
          if (code === "TOO_LARGE")
            return invalidRequest(`${REFUSALS.TOO_LARGE}: at most ${maxBytes} bytes are allowed`);
          if (code !== undefined && Object.hasOwn(REFUSALS, code)) {
            return invalidRequest(REFUSALS[code as OutboundRefusalCode]);
          }
          return invalidRequest("the URL could not be fetched");
        }
      },
    }
  );
}
