/** Images of a request: decoded or fetched within limits, in the format for models. */
import { loadMedia, sourceOfUrl } from "@svc/kit/media";
import type { Documents } from "@svc/sdk/media";
import type { ImageBlock, Message, TextBlock } from "@svc/sdk/models";
import type { OutboundFetch } from "@svc/sdk/web";
import type { ImageSettings } from "./config.ts";
import type { ImagePart, Part } from "./content.ts";
import type { Conversation } from "./conversation.ts";
import { type Entry, resultMessage } from "./entries.ts";
import { blaming, refuseField } from "./refusals.ts";

export interface ImageSources {
  readonly settings: ImageSettings;
  readonly outbound: OutboundFetch | undefined;
  /** If absent, the declared type of an image is trusted. */
  readonly documents: Documents | undefined;
  readonly signal: AbortSignal;
}

/** Images and history for the run. */
export interface Shown {
  readonly images: readonly ImageBlock[];
  /** At least one image came from the web, so its author is unknown. */
  readonly isFetched: boolean;
  readonly history: readonly Message[];
}

/** The text that replaces an image by URL in an earlier message. */
const LEFT_OUT = "[image left out: only images of the latest message are fetched]";

/** @throws GatewayError `INVALID_REQUEST` naming the image */
export async function loadConversation(
  { images, history }: Pick<Conversation, "images" | "history">,
  sources: ImageSources,
): Promise<Shown> {
  const { maxParts } = sources.settings;
  const extra = images[maxParts];
  if (extra) refuseField(extra.param, `more than ${maxParts} images in one message are not allowed`);
  const budget = createBudget(sources);
  const loaded: ImageBlock[] = [];
  for (const image of images) loaded.push(await budget.load(image));
  const shown: Message[] = [];
  for (const entry of history) shown.push(await messageOf(entry, budget));
  return { images: loaded, isFetched: !images.every(isInline), history: shown };
}

interface Budget {
  /** Loads one image and reduces the bytes left for later ones. */
  load(image: ImagePart): Promise<ImageBlock>;
}

function createBudget({ settings, outbound, documents, signal }: ImageSources): Budget {
  let left = settings.maxTotalBytes;
  return {
    load: ({ url, param }) =>
      blaming(param, async () => {
        const { bytes, mimeType } = await loadMedia(sourceOfUrl(url), settings, outbound, signal);
        left -= bytes.byteLength;
        if (left < 0) refuseField(param, `all images together are larger than ${settings.maxTotalBytes} bytes`);
        if (documents) return documents.image(bytes);
        return { type: "image", data: Buffer.from(bytes).toString("base64"), mimeType };
      }),
  };
}

async function messageOf(entry: Entry, budget: Budget): Promise<Message> {
  if (entry.role === "assistant") return entry;
  if (entry.role === "toolResult") return resultMessage(entry, entry.toolName ?? "", 0);
  const content: (TextBlock | ImageBlock)[] = [];
  for (const part of entry.parts) content.push(await blockOf(part, budget));
  return { role: "user", content, timestamp: 0 };
}

async function blockOf(part: Part, budget: Budget): Promise<TextBlock | ImageBlock> {
  if (part.type === "text") return part;
  return isInline(part) ? budget.load(part) : { type: "text", text: LEFT_OUT };
}

function isInline({ url }: ImagePart): boolean {
  return /^data:/i.test(url);
}
