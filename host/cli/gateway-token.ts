/** `svc gateway token`: prints the secret that clients need to anyone who can read the state directory. */
import { EXIT, type Output, refuse } from "./output.ts";
import { resolveTarget } from "./target.ts";

/** Prints only the secret to stdout. @returns the exit code */
export async function printToken(output: Output): Promise<number> {
  const { token, password } = await resolveTarget({}, process.env);
  const secret = token ?? password;
  if (secret === undefined) {
    const why =
      "no gateway token or password found: no gateway was started from this state directory, or its auth mode needs none";
    return refuse(`${why}\nNext: svc gateway run`, output);
  }
  output.print(output.json ? { [token === undefined ? "password" : "token"]: secret } : secret);
  return EXIT.ok;
}
