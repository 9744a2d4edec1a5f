/** Format of a sound file. */
export interface SoundFormat {
  /** Ending of a file name, without the dot. */
  readonly ending: string;
  readonly mimeType: string;
}

const OGG = { ending: "ogg", mimeType: "audio/ogg" };
const WAV = { ending: "wav", mimeType: "audio/wav" };
const FLAC = { ending: "flac", mimeType: "audio/flac" };
const MP3 = { ending: "mp3", mimeType: "audio/mpeg" };
const MP4 = { ending: "m4a", mimeType: "audio/mp4" };
const WEBM = { ending: "webm", mimeType: "audio/webm" };

/**
 * Detects Ogg, WAV, FLAC, MP3, MP4 or WebM from the first 12 bytes, regardless of the declared type; `undefined`: none of
 * these.
 */
export function sniffSound(bytes: Uint8Array): SoundFormat | undefined {
  const head = Buffer.from(bytes.subarray(0, 12)).toString("latin1");
  if (head.startsWith("OggS")) return OGG;
  if (head.startsWith("RIFF") && head.slice(8) === "WAVE") return WAV;
  if (head.startsWith("fLaC")) return FLAC;
  if (head.slice(4, 8) === "ftyp") return MP4;
  if (head.startsWith("\x1aE\xdf\xa3")) return WEBM;
  const [first = 0, second = 0] = bytes;
  const isFrame = first === 0xff && (second & 0xe6) === 0xe2; // sync word, layer III
  return head.startsWith("ID3") || isFrame ? MP3 : undefined;
}
