/** Formats of audio by their first bytes. Pure. */
import type { SpeechFormat } from "@svc/sdk/speech";

/** Choice: bytes of the audio of one text; about 100 minutes at 32 kbit/s. */
export const MAX_AUDIO_BYTES = 25_000_000;

const FACTS = {
  opus: { mimeType: "audio/ogg", extension: ".ogg", isVoice: true },
  mp3: { mimeType: "audio/mpeg", extension: ".mp3", isVoice: false },
  wav: { mimeType: "audio/wav", extension: ".wav", isVoice: false },
} as const satisfies Record<SpeechFormat, object>;

export const factsOf = (format: SpeechFormat) => FACTS[format];

/** The format of these bytes; `undefined`: no audio in one of the formats, e.g. a page with an error. */
export function formatOf(bytes: Uint8Array): SpeechFormat | undefined {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 100)).toString("latin1");
  if (start.startsWith("OggS") && start.includes("OpusHead")) return "opus";
  if (start.startsWith("RIFF") && start.slice(8, 12) === "WAVE") return "wav";
  const [first = 0, second = 0] = bytes;
  // A frame of MPEG layer III: 11 bits for synchronization, then version and layer.
  const isFrame = first === 0xff && (second & 0xe0) === 0xe0 && (second & 0x06) === 0x02;
  return start.startsWith("ID3") || isFrame ? "mp3" : undefined;
}
