/** Pictures for a model that does not accept them: their descriptions instead. */
import { messageOf } from "@svc/sdk";
import type { ImageDescriptions, MediaPlace } from "@svc/sdk/media";
import type { ImageBlock, Message, ResolvedModel, TextBlock } from "@svc/sdk/models";

/** Choice: pictures of a conversation that are described, the newest ones; a line of text replaces the others. */
const MAX_DESCRIBED = 8;

const LEFT_OUT = "this model does not accept images";

/** Whether a model gets pictures as they are; a model without declared `input` does. */
export const takesImages = ({ input }: Pick<ResolvedModel, "input">) => input?.includes("image") ?? true;

/** The descriptions of one run. Each picture is described once; a failure is not tried again. */
export class DescribedImages {
  readonly #service: () => ImageDescriptions | undefined;
  readonly #place: MediaPlace;
  readonly #signal: AbortSignal;
  readonly #texts = new WeakMap<ImageBlock, string>();

  constructor(service: () => ImageDescriptions | undefined, place: MediaPlace, signal: AbortSignal) {
    this.#service = service;
    this.#place = place;
    this.#signal = signal;
  }

  /** The messages as this model can read them. @throws the reason of the signal */
  async shown(messages: readonly Message[], model: Pick<ResolvedModel, "input">): Promise<readonly Message[]> {
    if (takesImages(model)) return messages;
    const images = messages.flatMap(imagesOf);
    if (images.length === 0) return messages;
    await Promise.all(images.slice(-MAX_DESCRIBED).map((image) => this.#describe(image)));
    return messages.map((message) => this.#inWords(message));
  }

  async #describe(image: ImageBlock): Promise<void> {
    const service = this.#service();
    if (!service || this.#texts.has(image)) return;
    try {
      const { text, by } = await service.describe(image, this.#signal, this.#place);
      this.#texts.set(image, `[picture, described by ${by}]\n${text}`);
    } catch (error) {
      this.#signal.throwIfAborted();
      this.#texts.set(image, `[image left out: ${LEFT_OUT}; ${messageOf(error)}]`);
    }
  }

  #inWords(message: Message): Message {
    if (message.role === "assistant" || imagesOf(message).length === 0) return message;
    const content = message.content.map((block): TextBlock =>
      block.type === "image"
        ? { type: "text", text: this.#texts.get(block) ?? `[image left out: ${LEFT_OUT}]` }
        : block,
    );
    return { ...message, content };
  }
}

function imagesOf(message: Message): readonly ImageBlock[] {
  return message.role === "assistant" ? [] : message.content.filter((block) => block.type === "image");
}
