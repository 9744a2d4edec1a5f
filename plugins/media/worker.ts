/** Entry of the thread that reads one PDF and is ended afterwards: nothing a document does outlives it. */
import { isGatewayError } from "@svc/sdk/errors";
import { parentPort, workerData } from "node:worker_threads";
import type { PdfJob, PdfReport } from "./pdf-job.ts";
import { readPdf } from "./read-pdf.ts";
import { prepareRealm } from "./realm.ts";

const port = parentPort;
if (port === null) throw new Error("worker.ts runs as a worker thread only");
const send = (report: PdfReport, transfer: readonly ArrayBuffer[] = []) => port.postMessage(report, [...transfer]);

const REASONS: Readonly<Record<string, string>> = {
  PasswordException: "the PDF is protected by a password; send one without",
  InvalidPDFException: "the PDF is damaged, or no PDF at all; send another copy",
};

/** Whatever else a document does to the library is the fault of the document. */
function reasonOf(thrown: unknown): string {
  if (isGatewayError(thrown)) return thrown.message;
  const name = thrown instanceof Error ? thrown.name : "";
  return REASONS[name] ?? "the PDF cannot be read: something in it is not as it should be; send another copy";
}

prepareRealm();
const unpdf = await import("unpdf");
send({ kind: "ready" });
try {
  const content = await readPdf(workerData as PdfJob, unpdf); // what pdf-reader.ts starts this thread with
  const buffers = content.pictures.map(({ png }) => png.buffer).filter((buffer) => buffer instanceof ArrayBuffer);
  send({ kind: "read", content }, buffers);
} catch (thrown) {
  send({ kind: "refused", message: reasonOf(thrown) });
}
