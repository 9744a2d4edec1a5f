/** Entry of the process that reads one PDF and is killed afterwards: nothing a document does outlives it. */
import { isGatewayError } from "@svc/sdk/errors";
import type { PdfJob, PdfReport } from "./pdf-job.ts";
import { readPdf } from "./read-pdf.ts";
import { prepareRealm } from "./realm.ts";
import { startWatchdog } from "./watchdog.ts";

if (!process.send) throw new Error("worker.ts runs as a child process only");
const send = (report: PdfReport) => process.send?.(report);

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
await startWatchdog();
process.once("message", (job: PdfJob) => {
  readPdf(job, unpdf).then(
    (content) => send({ kind: "read", content }),
    (thrown: unknown) => send({ kind: "refused", message: reasonOf(thrown) }),
  );
});
process.once("disconnect", () => process.exit()); // the gateway is gone
send({ kind: "ready" });
