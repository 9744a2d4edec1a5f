/**
 * Takes pictures and sound out of files with ffmpeg. A file of a stranger can at most end its own process: no network, no
 * playlists, and limits on time, memory, pixels and output.
 */
import { basename, dirname, join } from "node:path";
import { findOnPath, ownPlaces, type ProgramPlaces, runForBytes } from "@svc/kit/exec";
import { invalidRequest, unavailable } from "@svc/sdk";

/** Choice: containers of sounds and videos. None of them names other files: playlists and scripts are not in the list. */
const FORMATS =
  "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,ogg,mp3,wav,w64,flac,aac,amr,caf,aiff,asf,flv,mpeg,mpegts,mpegvideo";
/** Choice: width times height of a video; above 8K. */
const MAX_PIXELS = 40_000_000;
/** Choice: seconds of sound. */
export const MAX_SOUND_SECONDS = 1_800;
/** Choice: longer side of a picture; models see no more. */
const MAX_SIDE = 1_024;
/** Choice: limits of a process, by `prlimit` where it is installed. */
const LIMITS = ["--as=2147483648", "--cpu=120", "--fsize=134217728", "--nofile=64", "--core=0"];
/** Choice: milliseconds for one process. */
const TIME_MS = 60_000;
const MAX_PROBE_BYTES = 1_000_000;
const MAX_PICTURE_BYTES = 4_000_000;

/** The input comes first: its options apply to it alone. */
const INPUT = ["-hide_banner", "-v", "error", "-protocol_whitelist", "file", "-format_whitelist", FORMATS];
const DECODER = ["-nostdin", ...INPUT, "-threads", "2", "-max_pixels", String(MAX_PIXELS)];

/** Facts of a file, as its header declares them. */
export interface MediaFacts {
  readonly seconds?: number;
  readonly hasPictures: boolean;
  readonly hasSound: boolean;
}

export interface Ffmpeg {
  /** Whether `ffmpeg` and `ffprobe` are installed. */
  isInstalled(): Promise<boolean>;
  /** @throws GatewayError `INVALID_REQUEST` for an unreadable file; `UNAVAILABLE` if it is not installed; the signal's reason */
  facts(file: string, signal: AbortSignal): Promise<MediaFacts>;
  /** Writes the first sound track beside the file, mono, 16 kHz. @returns the new file. Same errors as `facts` */
  sound(file: string, format: "wav" | "flac", signal: AbortSignal): Promise<string>;
  /** A JPEG. @returns `undefined`: there is none at this time. Same errors as `facts` */
  picture(file: string, atSeconds: number, signal: AbortSignal): Promise<Uint8Array | undefined>;
}

export function createFfmpeg(places: () => ProgramPlaces = ownPlaces): Ffmpeg {
  const find = (name: string) => findOnPath(name, places());

  /** @param file in the directory of the process, so that no argument is longer or stranger than its name */
  async function run(name: "ffmpeg" | "ffprobe", file: string, args: readonly string[], options: RunOptions) {
    const [program, limiter] = await Promise.all([find(name), find("prlimit")]);
    if (program === undefined)
      return unavailable(`the gateway cannot read this file: ${name} is not installed; install the package ffmpeg`);
    const own = [program, ...args];
    const start =
      limiter === undefined ? { file: program, argv: own } : { file: limiter, argv: [limiter, ...LIMITS, ...own] };
    const env = { PATH: places().path, LC_ALL: "C.UTF-8" };
    const end = await runForBytes({ ...start, ...options, cwd: dirname(file), env, timeoutMs: TIME_MS });
    if (end.bytes) return end.bytes;
    if (end.timedOut) invalidRequest(`reading the file took longer than ${TIME_MS / 1_000} s; send a shorter one`);
    return invalidRequest(`the file is damaged, or it is no sound or video that ffmpeg reads: ${end.failure}`);
  }

  return {
    async isInstalled() {
      const found = await Promise.all([find("ffmpeg"), find("ffprobe")]);
      return found.every((file) => file !== undefined);
    },
    async facts(file, signal) {
      const wanted = "format=duration:stream=codec_type,width,height:stream_disposition=attached_pic";
      const args = [...INPUT, "-show_entries", wanted, "-of", "json", inputName(file)];
      return factsOf(await run("ffprobe", file, args, { signal, maxBytes: MAX_PROBE_BYTES }));
    },
    async sound(file, format, signal) {
      const made = join(dirname(file), `sound.${format}`);
      const track = ["-map", "0:a:0", "-vn", "-sn", "-dn", "-map_metadata", "-1", "-t", String(MAX_SOUND_SECONDS)];
      const form = ["-ac", "1", "-ar", "16000", "-f", format, "-y", basename(made)];
      await run("ffmpeg", file, [...DECODER, "-i", inputName(file), ...track, ...form], { signal, maxBytes: 0 });
      return made;
    },
    async picture(file, atSeconds, signal) {
      const side = (edge: string) => `'min(${MAX_SIDE},${edge})'`;
      const scale = `scale=${side("iw")}:${side("ih")}:force_original_aspect_ratio=decrease`;
      const before = ["-ss", atSeconds.toFixed(3), "-i", inputName(file)];
      const after = [
        "-map",
        "0:V:0",
        "-an",
        "-frames:v",
        "1",
        "-vf",
        scale,
        "-c:v",
        "mjpeg",
        "-f",
        "image2pipe",
        "pipe:1",
      ];
      const jpeg = await run("ffmpeg", file, [...DECODER, ...before, ...after], {
        signal,
        maxBytes: MAX_PICTURE_BYTES,
      });
      return jpeg.byteLength === 0 ? undefined : jpeg;
    },
  };
}

/** With its protocol, so that no name of a file is an address or an option. */
const inputName = (file: string) => `file:${basename(file)}`;

interface RunOptions {
  readonly signal: AbortSignal;
  /** Bytes of its output. */
  readonly maxBytes: number;
}

function factsOf(json: Buffer): MediaFacts {
  const { format, streams = [] } = JSON.parse(json.toString("utf8")) as Probe; // written by ffprobe
  const pictures = streams.filter(
    ({ codec_type: kind, disposition }) => kind === "video" && !disposition?.attached_pic,
  );
  for (const { width = 0, height = 0 } of pictures)
    if (width * height > MAX_PIXELS)
      invalidRequest(
        `the video has ${width} x ${height} pixels; at most ${MAX_PIXELS} are allowed; send a smaller one`,
      );
  const seconds = Number(format?.duration ?? Number.NaN);
  return {
    hasPictures: pictures.length > 0,
    hasSound: streams.some(({ codec_type: kind }) => kind === "audio"),
    ...(Number.isFinite(seconds) && seconds >= 0 ? { seconds } : {}),
  };
}

interface Probe {
  readonly format?: { readonly duration?: string };
  readonly streams?: readonly {
    readonly codec_type?: string;
    readonly width?: number;
    readonly height?: number;
    readonly disposition?: { readonly attached_pic?: number };
  }[];
}
