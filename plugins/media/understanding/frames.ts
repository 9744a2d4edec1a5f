/** The `VideoFrames` service: pictures of a video at evenly spaced times. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Slots, withDeadline } from "@svc/kit/time";
import { type Clock, invalidRequest } from "@svc/sdk";
import type { VideoFrames } from "@svc/sdk/media";
import type { ImageBlock } from "@svc/sdk/models";
import type { MediaConfig } from "../config.ts";
import type { Ffmpeg } from "../programs/ffmpeg.ts";
import type { Scratch } from "../programs/scratch.ts";
import { requireAllowed } from "./scope.ts";

export interface FrameSources {
  readonly config: () => MediaConfig;
  readonly ffmpeg: Ffmpeg;
  readonly scratch: Scratch;
  readonly slots: Slots;
  readonly clock: Pick<Clock, "setTimeout">;
  /** Aborts when the plugin stops. */
  readonly signal: AbortSignal;
}

export function createFrames({ config, ffmpeg, scratch, slots, clock, signal: stopping }: FrameSources): VideoFrames {
  return {
    async keyFrames({ bytes }, { max }, caller, place) {
      requireAllowed("video", config(), place);
      const { maxBytes, maxFrames, timeoutSeconds } = config().video;
      if (bytes.byteLength > maxBytes)
        invalidRequest(`${bytes.byteLength} bytes are too many: at most ${maxBytes} (tools.media.video.maxBytes)`);
      const late = () => `the video was not read within ${timeoutSeconds} s (tools.media.video.timeoutSeconds)`;
      const signals = caller ? [caller, stopping] : [stopping];
      return withDeadline({ ms: timeoutSeconds * 1_000, clock, signals, late }, (signal) =>
        slots.use(signal, () =>
          scratch.use(async (directory) => {
            const file = join(directory, "input.bin");
            await writeFile(file, bytes, { mode: 0o600 });
            const { seconds, hasPictures, hasSound } = await ffmpeg.facts(file, signal);
            if (!hasPictures) invalidRequest("the file has no pictures");
            const images: ImageBlock[] = [];
            const show = (jpeg: Uint8Array | undefined) => {
              if (!jpeg) return;
              images.push({ type: "image", data: Buffer.from(jpeg).toString("base64"), mimeType: "image/jpeg" });
            };
            for (const at of timesOf(seconds, Math.min(max, maxFrames))) {
              show(await ffmpeg.picture(file, at, signal));
            }
            if (images.length === 0) show(await ffmpeg.picture(file, 0, signal)); // the header may lie about the length
            if (images.length === 0) invalidRequest("the video has no picture that can be shown");
            return { images, hasSound, ...(seconds === undefined ? {} : { seconds }) };
          }),
        ),
      );
    },
  };
}

/** The middle of each of `count` equal parts; the beginning alone for an unknown or very short length. */
export function timesOf(seconds: number | undefined, count: number): readonly number[] {
  if (seconds === undefined || seconds < 0.5) return [0];
  return Array.from({ length: count }, (_, index) => (seconds * (index + 0.5)) / count);
}
