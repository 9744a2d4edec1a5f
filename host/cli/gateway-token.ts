/** `svc gateway token`: the secret clients need, for whoever can read the state directory. */
import { EXIT, type Output, refuse } from "./output.ts";
import { resolveTarget } from "./target.ts";

/** Prints it, and nothing else on standard output. @returns the exit code */
export async function printToken(output: Output): Promise<number> {
  const { token, password } = await resolveTarget({}, process.env);
  const secret = token ?? password;
  if (secret === undefined) {
    const why =
      "no token or password of a gateway is known here: none was started from this state directory, or its mode needs none";
    return refuse(`${why}\nNext: svc gateway run`, output);
  }
  output.print(output.json ? { [token === undefined ? "password" : "token"]: secret } : secret);
  return EXIT.ok;
}
