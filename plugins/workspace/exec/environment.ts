/** Builds the environment of a command: a few of the gateway's variables, and those that the call adds. Pure. */
import { delimiter, isAbsolute } from "node:path";
import { refusedVariable } from "@svc/kit/exec";
import { invalidRequest } from "@svc/sdk";

/** Choice: no other variable of the gateway is passed on, since it may hold a secret. */
const INHERITED = /^(PATH|HOME|USER|LOGNAME|LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|TMPDIR|NO_COLOR)$/;

/** Search path when the gateway has no PATH. */
const USUAL_PATH = "/usr/local/bin:/usr/bin:/bin";

/** Choice: maximum variables of a call, and UTF-16 units of a value. */
const MAX_VARIABLES = 100;
const MAX_VALUE_CHARS = 32_768;

export interface EnvironmentSources {
  /** Environment of the gateway. */
  readonly own: Readonly<Record<string, string | undefined>>;
  /** `tools.exec.pathPrepend`. */
  readonly pathPrepend: readonly string[];
}

/** Relative directories of PATH are left out, so that the workspace never chooses a program. */
export function commandEnvironment(
  { own, pathPrepend }: EnvironmentSources,
  added: Readonly<Record<string, string>>,
): Record<string, string> {
  const kept = Object.entries(own).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && INHERITED.test(entry[0]),
  );
  const path = [...pathPrepend, ...(own["PATH"] || USUAL_PATH).split(delimiter).filter(isAbsolute)];
  return { TERM: "dumb", ...Object.fromEntries(kept), PATH: path.join(delimiter), ...added };
}

/** Checks the variables that a call adds. @throws GatewayError `INVALID_REQUEST` naming the variable, never its value */
export function addedVariables(given: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const entries = Object.entries(given);
  if (entries.length > MAX_VARIABLES) invalidRequest(`env has more than ${MAX_VARIABLES} variables; omit some`);
  for (const [name, value] of entries) {
    const why = refusedVariable(name);
    if (why !== undefined) invalidRequest(`env: ${why}; omit it`);
    if (value.includes("\0")) invalidRequest(`env: the value of ${name} contains a NUL character; omit the variable`);
    if (value.length > MAX_VALUE_CHARS) {
      invalidRequest(`env: the value of ${name} is longer than ${MAX_VALUE_CHARS} characters; put it into a file`);
    }
  }
  return given;
}
