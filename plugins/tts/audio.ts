/** Formats of audio by their first bytes. Pure. */
import { sniffSound } from "@svc/kit/media";
import { unavailable } from "@svc/sdk";
import type { SpeechFormat, SpokenAudio } from "@svc/sdk/speech";

/** Choice: bytes of the audio of one text; about 100 minutes at 32 kbit/s. */
export const MAX_AUDIO_BYTES = 25_000_000;

export const FACTS = {
  opus: { mimeType: "audio/ogg", extension: ".ogg", isVoice: true },
  mp3: { mimeType: "audio/mpeg", extension: ".mp3", isVoice: false },
  wav: { mimeType: "audio/wav", extension: ".wav", isVoice: false },
} as const satisfies Record<SpeechFormat, object>;

/** The format of these bytes; `undefined`: no audio in one of the formats, e.g. a page with an error. */
export function formatOf(bytes: Uint8Array): SpeechFormat | undefined {
  const { ending } = sniffSound(bytes) ?? {};
  if (ending === "ogg") return Buffer.from(bytes.subarray(0, 100)).includes("OpusHead") ? "opus" : undefined;
  return ending === "mp3" || ending === "wav" ? ending : undefined;
}

/** @param engine name in error messages @throws GatewayError `UNAVAILABLE` if these bytes are too many, or no audio */
export function spoken(bytes: Uint8Array, engine: string): SpokenAudio {
  if (bytes.byteLength > MAX_AUDIO_BYTES) unavailable(`${engine} returned more than ${MAX_AUDIO_BYTES} bytes`);
  const format = formatOf(bytes);
  return format === undefined ? unavailable(`${engine} did not return audio`) : { bytes, format };
}
