/** Programs beyond npm that some tests need. */
import { spawnSync } from "node:child_process";

const PROGRAMS = {
  chromium: { variable: "SVC_TEST_CHROMIUM", version: "--version" },
  "espeak-ng": { variable: "SVC_TEST_ESPEAK", version: "--version" },
  nginx: { variable: "SVC_TEST_NGINX", version: "-v" },
  caddy: { variable: "SVC_TEST_CADDY", version: "version" },
  ffmpeg: { variable: "SVC_TEST_FFMPEG", version: "-version" },
} as const;

/** Why this machine lacks the program; `false` if it has it. If its variable (`SVC_TEST_...`) is set, it must exist. */
export function without(program: keyof typeof PROGRAMS): string | false {
  const { variable, version } = PROGRAMS[program];
  if (process.env[variable] || spawnSync(program, [version], { stdio: "ignore" }).status === 0) return false;
  return `${program} is not installed; apt-get install ${program}`;
}
