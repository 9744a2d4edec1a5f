/** Detects commands that fetch external content. Pure. Choice: this list of programs; other commands that fetch are not detected. */
import { type Origin, outsideOrigin } from "@svc/sdk";

const FETCHES =
  /(?:^|[\s;&|(`$"'/])(?:curl|wget|aria2c|httpie|xh|gh|glab|ssh|scp|sftp|nc|ncat|netcat|socat|telnet|ftp|lynx|w3m|elinks|yt-dlp|rclone|git\s+(?:\S+\s+)*?(?:clone|fetch|pull|ls-remote))(?=$|[\s;&|)`"'])/;
const ADDRESS = /\b(?:https?|ftp|wss?):\/\/(?!(?:localhost|127\.0\.0\.1|\[::1\])(?=[:/\s"']|$))[^\s"'`;|&)]+/i;

/** Origin of what the command fetches; `undefined`: it does not look like fetching. */
export function fetchedBy(command: string): Origin | undefined {
  const address = ADDRESS.exec(command)?.[0];
  if (address !== undefined) return outsideOrigin("web", address);
  return FETCHES.test(command) ? outsideOrigin("web", command.trim()) : undefined;
}
