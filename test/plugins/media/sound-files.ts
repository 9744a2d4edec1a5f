/** Sounds and videos, made with the programs of the machine. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

function made(name: string, make: (file: string) => readonly [program: string, ...args: string[]]): Buffer {
  const directory = mkdtempSync(join(tmpdir(), "svc-sound-"));
  try {
    const file = join(directory, name);
    const [program, ...args] = make(file);
    const { status, stderr } = spawnSync(program, args, { cwd: directory });
    if (status !== 0) throw new Error(`${program}: ${String(stderr)}`);
    return readFileSync(file);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** A spoken text, WAV. */
export const speech = (text = "hello from the gateway"): Buffer =>
  made("speech.wav", (file) => ["espeak-ng", "-w", file, text]);

const TONE = ["-v", "error", "-f", "lavfi", "-i"] as const;

/** A tone of one second. @param ending decides about the format */
export const tone = (ending: string, ...options: readonly string[]): Buffer =>
  made(`tone.${ending}`, (file) => ["ffmpeg", ...TONE, "sine=frequency=440:duration=1", ...options, file]);

/** Silence in a small file. */
export const silence = (seconds: number): Buffer =>
  made("silence.flac", (file) => ["ffmpeg", ...TONE, "anullsrc=r=8000:cl=mono", "-t", String(seconds), file]);

/** A colour that changes from red to blue in the middle. @param seconds at least 2 */
export function video(seconds: number, { sound = true, size = "320x180" } = {}): Buffer {
  const half = seconds / 2;
  const colours = ["red", "blue"].flatMap((colour) => ["-f", "lavfi", "-i", `color=${colour}:s=${size}:r=5:d=${half}`]);
  const tones = sound ? ["-f", "lavfi", "-i", `sine=frequency=440:duration=${seconds}`] : [];
  const joined = ["-filter_complex", "[0:v][1:v]concat=n=2:v=1[v]", "-map", "[v]", ...(sound ? ["-map", "2:a"] : [])];
  return made("video.mp4", (file) => [
    "ffmpeg",
    "-v",
    "error",
    ...colours,
    ...tones,
    ...joined,
    "-pix_fmt",
    "yuv420p",
    file,
  ]);
}

/** Mean red, green and blue of a picture. */
export function colourOf(jpeg: Uint8Array): readonly number[] {
  const args = ["-v", "error", "-i", "pipe:0", "-vf", "scale=1:1", "-f", "rawvideo", "-pix_fmt", "rgb24", "pipe:1"];
  return [...spawnSync("ffmpeg", args, { input: jpeg }).stdout];
}
