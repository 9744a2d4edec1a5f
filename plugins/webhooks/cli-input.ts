/** Input of `svc hooks`: command line options and files. */
import { readFile } from "node:fs/promises";
import { invalidRequest } from "@svc/sdk";
import type { CommandContext } from "@svc/sdk/cli";
import { describePlace, firstBadPlace } from "./json-place.ts";

/** Choice: bytes of a payload; the request around it still fits into one message to the gateway. */
const MAX_PAYLOAD_BYTES = 16 * 1024 * 1024;

const HOW = "e.g. svc hooks try build --payload payload.json, or echo '{\"id\":1}' | svc hooks try build --payload -";

/** Reads `--payload`: a file, or `-` for standard input. @throws GatewayError `INVALID_REQUEST` naming the fault and its position */
export async function readPayload({ options, input }: Pick<CommandContext, "options" | "input">): Promise<unknown> {
  const source = textOption(options, "payload");
  if (source === undefined) return invalidRequest(`hooks try needs a request body\nNext: ${HOW}`);
  const name = source === "-" ? "standard input" : source;
  const text = decode(source === "-" ? await readAll(input) : await readSource(source), name);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    if (text.trim() === "") return invalidRequest(`${name} is empty\nNext: send a request body, at least {}; ${HOW}`);
    const place = describePlace(text, firstBadPlace(text) ?? text.length);
    return invalidRequest(`${name} is not JSON: ${place}\nNext: fix it there and try again`);
  }
}

async function readSource(source: string): Promise<Buffer> {
  try {
    return await readFile(source);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException; // the file system throws nothing else
    const why = code === "ENOENT" ? "it does not exist" : code === "EISDIR" ? "it is a directory" : message;
    return invalidRequest(`${source} cannot be read: ${why}\nNext: name another file, or - for standard input`);
  }
}

async function readAll(input: CommandContext["input"]): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of input) {
    const bytes = Buffer.from(chunk);
    chunks.push(bytes);
    size += bytes.length;
    if (size > MAX_PAYLOAD_BYTES) break; // `decode` reports it
  }
  return Buffer.concat(chunks);
}

function decode(bytes: Buffer, name: string): string {
  if (bytes.length > MAX_PAYLOAD_BYTES) {
    invalidRequest(`${name} is larger than ${MAX_PAYLOAD_BYTES} bytes\nNext: try a shorter request body`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return invalidRequest(`${name} is not UTF-8 text, so it cannot be JSON\nNext: convert it, e.g. with iconv`);
  }
}

/** RFC 9110 §5.6.2. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * Reads all `--header "Name: value"` options; repeated names are joined with `, `, as in a request.
 * @throws GatewayError `INVALID_REQUEST` naming the invalid option
 */
export function readHeaders(options: CommandContext["options"]): Record<string, string> {
  const given: unknown = options["header"];
  const headers = new Map<string, string>();
  for (const line of Array.isArray(given) ? given.map(String) : []) {
    const at = line.indexOf(":");
    const name = line.slice(0, Math.max(at, 0)).toLowerCase();
    const value = line.slice(at + 1).trim();
    if (!HEADER_NAME.test(name) || /[\r\n]/.test(value)) {
      invalidRequest(`--header "${line}" is not a header\nNext: use the form --header "X-Event: build"`);
    }
    const former = headers.get(name);
    headers.set(name, former === undefined ? value : `${former}, ${value}`);
  }
  return Object.fromEntries(headers);
}

/** @throws GatewayError `INVALID_REQUEST` when it is not a whole number from 1 to `most` */
export function countOption(options: CommandContext["options"], name: string, most: number): number | undefined {
  const text = textOption(options, name);
  if (text === undefined) return undefined;
  const count = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 0;
  return count >= 1 && count <= most
    ? count
    : invalidRequest(`--${name} takes a whole number from 1 to ${most}, not "${text}"; e.g. --${name} 20`);
}

/** @throws GatewayError `INVALID_REQUEST` naming the choices */
export function choiceOption<T extends string>(
  options: CommandContext["options"],
  name: string,
  choices: readonly T[],
): T | undefined {
  const text = textOption(options, name);
  if (text === undefined) return undefined;
  const choice = choices.find((one) => one === text);
  return choice ?? invalidRequest(`--${name} takes ${choices.join(", ")}, not "${text}"; e.g. --${name} ${choices[0]}`);
}

export function textOption(options: CommandContext["options"], name: string): string | undefined {
  const value = options[name];
  return typeof value === "string" ? value : undefined;
}
