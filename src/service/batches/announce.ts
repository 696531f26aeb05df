/** What is told of jobs to whoever wants to hear of them. */

export interface BatchAnnouncement {
  readonly type: 'batch.completed' | 'batch.failed' | 'batch.cancelled';
  readonly keyId: string;
  /** The job as GET shows it. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly webhookUrl: string | null;
}

/** Keeps what is to be told. Within a transaction of the store; it is sent after that was committed. */
export type Announce = (announcement: BatchAnnouncement) => void;
