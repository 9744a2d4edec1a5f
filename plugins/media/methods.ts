/** The `media` namespace: people try the configuration with a file. */
import { sniffImage } from "@svc/kit/media";
import { type Handlers, invalidRequest } from "@svc/sdk";
import {
  type Documents,
  type ImageDescriptions,
  MAX_TRIED_BYTES,
  media,
  type Transcription,
  type VideoFrames,
} from "@svc/sdk/media";

export interface MediaDesk {
  readonly documents: Pick<Documents, "image">;
  readonly transcription: Transcription;
  readonly descriptions: ImageDescriptions;
  readonly frames: VideoFrames;
}

/** Choice: pictures of a video that are described. */
const MAX_FRAMES = 8;

export function createHandlers({ documents, transcription, descriptions, frames }: MediaDesk): Handlers<typeof media> {
  return {
    transcribe: async ({ params, signal }) => {
      const file = { bytes: bytesOf(params.data), mimeType: "application/octet-stream" };
      const { text } = await transcription.transcribe(file, signal);
      return { text };
    },
    async describe({ params, signal }) {
      const bytes = bytesOf(params.data);
      if (sniffImage(bytes) !== undefined)
        return { descriptions: [await descriptions.describe(await documents.image(bytes), signal)] };
      const { images, seconds } = await frames.keyFrames({ bytes }, { max: MAX_FRAMES }, signal);
      const described = [];
      for (const image of images) described.push(await descriptions.describe(image, signal));
      return { descriptions: described, ...(seconds === undefined ? {} : { seconds }) };
    },
  };
}

function bytesOf(data: string): Uint8Array {
  const bytes = Buffer.from(data, "base64");
  if (bytes.toString("base64") !== data) invalidRequest("data is not base64");
  if (bytes.byteLength > MAX_TRIED_BYTES)
    invalidRequest(`the file has ${bytes.byteLength} bytes; at most ${MAX_TRIED_BYTES} can be tried`);
  return bytes;
}
