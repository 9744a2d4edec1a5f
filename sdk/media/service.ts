/** Services that convert files to a form that models accept. */
import { defineService } from "../service.ts";
import type { ImageBlock } from "../models/messages.ts";

/** Limits for reading a document. Spec: http/responses.md §4. */
export interface DocumentLimits {
  /** Characters of text; the rest is truncated. */
  readonly maxChars: number;
  readonly pdf: {
    /** Maximum number of pages read. */
    readonly maxPages: number;
    /** Width times height of a rendered page. */
    readonly maxPixels: number;
    /** A PDF with less text than this is also rendered to pictures. */
    readonly minTextChars: number;
  };
}

/** Content of a document. */
export interface ReadDocument {
  readonly text: string;
  /** Rendered pages of a PDF with too little text; otherwise empty. */
  readonly images: readonly ImageBlock[];
  /** The text was truncated. */
  readonly isCut: boolean;
}

/** A file to read. */
export interface DocumentFile {
  readonly bytes: Uint8Array;
  /** Lower case, without parameters; `application/pdf` is read as PDF, everything else as text. */
  readonly mimeType: string;
  /** Default, also for unknown values: UTF-8. */
  readonly charset?: string;
}

/** Reads documents and pictures. A malicious file can at most crash its own process. */
export interface Documents {
  /** @throws GatewayError `INVALID_REQUEST` for an unreadable file; the reason of the signal */
  read(file: DocumentFile, limits: DocumentLimits, signal?: AbortSignal): Promise<ReadDocument>;
  /**
   * A picture in a format that models accept, unchanged: PNG, JPEG, GIF or WebP. The format is detected from the bytes,
   * not from the declared type.
   * @throws GatewayError `INVALID_REQUEST` for other formats, or more than `maxPixels` pixels (default 100,000,000)
   */
  image(bytes: Uint8Array, options?: { readonly maxPixels?: number }): Promise<ImageBlock>;
}

/** Token of the service. */
export const Documents = defineService<Documents>()("documents", "1.0.0", {
  summary:
    "Reads documents and pictures. Provided by the plugin `media`; used by the HTTP endpoints that accept files.",
  remotable: true,
});

/** Where a file comes from, for the rules `tools.media.*.scope`. */
export interface MediaPlace {
  /** Canonical session key. */
  readonly sessionKey?: string;
  /** Channel id. */
  readonly channel?: string;
  readonly chatType?: string;
}

/** Converts speech to text. */
export interface Transcription {
  /**
   * The words of a sound file, or of the sound of a video. Empty if nobody speaks. The format is detected from the bytes,
   * not from the declared type.
   * @throws GatewayError `INVALID_REQUEST` for an unreadable or too large file; `UNAVAILABLE` if `tools.media.audio.scope` denies
   * it, no engine is configured or none succeeds; the reason of the signal
   */
  transcribe(
    file: Pick<DocumentFile, "bytes" | "mimeType">,
    signal?: AbortSignal,
    place?: MediaPlace,
  ): Promise<{ readonly text: string }>;
}

/** Token of the service. */
export const Transcription = defineService<Transcription>()("transcription", "1.0.0", {
  summary:
    "Converts speech to text. Provided by the plugin `media`; used by the plugin `channels` for voice messages and videos.",
  remotable: true,
});

/** A picture in words. */
export interface ImageDescription {
  /** Marked as external content. The same picture has the same text as long as the gateway remembers it. */
  readonly text: string;
  /** What described it, e.g. `provider/id`. */
  readonly by: string;
}

/** Describes pictures for models that do not accept them. */
export interface ImageDescriptions {
  /**
   * @throws GatewayError `INVALID_REQUEST` for a too large picture; `UNAVAILABLE` if `tools.media.image.scope` denies it, no
   * model is configured or none succeeds; the reason of the signal
   */
  describe(image: ImageBlock, signal?: AbortSignal, place?: MediaPlace): Promise<ImageDescription>;
}

/** Token of the service. */
export const ImageDescriptions = defineService<ImageDescriptions>()("image.descriptions", "1.0.0", {
  summary:
    "Describes pictures in words. Provided by the plugin `media`; used by the plugin `agents` for models that do not accept pictures.",
  remotable: true,
});

/** Pictures of a video. */
export interface VideoPictures {
  /** JPEG, at evenly spaced times, in order. */
  readonly images: readonly ImageBlock[];
  /** Absent: the file does not say. */
  readonly seconds?: number;
  /** The video has a sound track. */
  readonly hasSound: boolean;
}

/** Takes pictures out of videos. A malicious file can at most crash its own process. */
export interface VideoFrames {
  /**
   * @param options.max maximum number of pictures; `tools.media.video.maxFrames` remains the upper limit
   * @throws GatewayError `INVALID_REQUEST` for an unreadable or too large file; `UNAVAILABLE` if `tools.media.video.scope`
   * denies it, or without ffmpeg; the reason of the signal
   */
  keyFrames(
    file: Pick<DocumentFile, "bytes">,
    options: { readonly max: number },
    signal?: AbortSignal,
    place?: MediaPlace,
  ): Promise<VideoPictures>;
}

/** Token of the service. */
export const VideoFrames = defineService<VideoFrames>()("video.frames", "1.0.0", {
  summary: "Takes pictures out of videos. Provided by the plugin `media`; used by the plugin `channels`.",
  remotable: true,
});
