/** Lines from the terminal or a pipe, in order; the characters of a secret are not shown. */
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { type CommandContext, isTerminal } from "@svc/sdk/cli";

export interface Lines {
  /** Asks for one line. @returns `undefined` when the input has ended */
  ask(prompt: string, isSecret?: boolean): Promise<string | undefined>;
  /** Safe to call twice. */
  close(): void;
}

/** Reads nothing until the first question. @param interrupted Ctrl-C was pressed */
export function openLines({ input, output }: Pick<CommandContext, "input" | "output">, interrupted: () => void): Lines {
  let opened: Lines | undefined;
  return {
    ask: (prompt, isSecret) => (opened ??= reader(input, output, interrupted)).ask(prompt, isSecret),
    close: () => opened?.close(),
  };
}

function reader(input: NodeJS.ReadableStream, output: NodeJS.WritableStream, interrupted: () => void): Lines {
  const terminal = isTerminal(input) && isTerminal(output);
  let isHidden = false;
  const shown = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!isHidden) output.write(chunk);
      done();
    },
  });
  const lines = createInterface({
    input,
    output: terminal ? Object.assign(shown, sizeOf(output)) : undefined,
    terminal,
  });
  const read: string[] = [];
  const state = { isOpen: true };
  let wake = () => {};
  lines.on("line", (line) => {
    read.push(line);
    wake();
  });
  lines.once("close", () => {
    state.isOpen = false;
    wake();
  });
  lines.on("SIGINT", () => {
    interrupted();
    lines.close();
  });

  return {
    async ask(prompt, isSecret = false) {
      output.write(prompt);
      isHidden = isSecret;
      if (terminal) lines.setPrompt("");
      try {
        while (read.length === 0 && state.isOpen) await new Promise<void>((next) => (wake = next));
        return read.shift();
      } finally {
        isHidden = false;
        if (isSecret && terminal) output.write("\n");
      }
    },
    close: () => lines.close(),
  };
}

/** Readline wraps lines at the width of its output. */
function sizeOf(output: NodeJS.WritableStream): { readonly columns?: number } {
  const { columns } = output as { columns?: number };
  return columns === undefined ? {} : { columns };
}
