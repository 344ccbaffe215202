//! The one file that touches the crate `agent-client-protocol`: JSON-RPC lines of a program, and questions to it.
//!
//! Messages are passed on as JSON and read by us: agents send fields and updates that the crate's types do not have
//! (and drop), and none of them may end a run.

use crate::services::{Flow, OutputReader};
use crate::streams::acp::Hears;
use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::{
    Builder, Channel, Client, ConnectionTo, Dispatch, Error, TransportFrame, UntypedMessage,
    is_incoming_transport_closed,
};
use futures_util::StreamExt;
use serde_json::Value;
use std::future::Future;
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// The version of the protocol that is spoken here.
pub(super) const VERSION: ProtocolVersion = ProtocolVersion::V1;

/// A line of more bytes ends the run; agents send whole files, so it is generous.
const LINE_BYTES: usize = 64 * 1024 * 1024;

/// A question was not answered.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum AskError {
    /// It was answered with an error.
    #[error("{message}")]
    Refused {
        /// JSON-RPC's code, or an HTTP status.
        code: i32,
        /// In the agent's words.
        message: String,
        /// What else it says.
        data: Value,
    },
    /// The program closed its stdout.
    #[error("it ended before it answered")]
    Closed,
}

/// Where questions to the agent go.
#[derive(Clone)]
pub(super) struct Agent(ConnectionTo<agent_client_protocol::Agent>);

impl Agent {
    /// Asks, and waits for the answer.
    pub async fn ask(&self, method: &str, params: Value) -> Result<Value, AskError> {
        let message = UntypedMessage { method: method.to_owned(), params };
        self.0.send_request(message).block_task().await.map_err(|error| {
            if is_incoming_transport_closed(&error) {
                return AskError::Closed;
            }
            let Error { code, message, data, .. } = error;
            AskError::Refused { code: code.value(), message, data: data.unwrap_or_default() }
        })
    }

    /// Says something that has no answer; lost if the program is gone.
    pub fn tell(&self, method: &str, params: Value) {
        let lost = self.0.send_notification(UntypedMessage { method: method.to_owned(), params });
        if let Err(error) = lost {
            tracing::debug!(%error, method, "the agent is gone");
        }
    }
}

/// The two ends of a connection: what a program prints goes in at one, the conversation is held at the other.
pub(super) fn connection(hears: Arc<dyn Hears>, stdin: UnboundedSender<Vec<u8>>) -> (Stdout, Line) {
    let (near, far) = Channel::duplex();
    let (from_us, to_us) = far.into_parts();
    let stdout = Stdout { line: Vec::new(), frames: Box::new(move |frame| drop(to_us.unbounded_send(frame))), hears };
    (stdout, Line { near, from_us: from_us.boxed(), stdin })
}

/// Cuts what a program prints into messages. Dropped, it tells the conversation that there will be no more.
pub(super) struct Stdout {
    line: Vec<u8>,
    frames: Box<dyn Fn(TransportFrame) + Send>,
    hears: Arc<dyn Hears>,
}

impl OutputReader for Stdout {
    fn read(&mut self, piece: &[u8]) -> Flow {
        let mut rest = piece;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            self.line.extend_from_slice(&rest[..end]);
            self.message();
            rest = &rest[end + 1..];
        }
        self.line.extend_from_slice(rest);
        if self.line.len() > LINE_BYTES {
            self.line = Vec::new();
            self.hears.too_long(LINE_BYTES);
            return Flow::Stop;
        }
        Flow::Continue
    }
}

impl Stdout {
    fn message(&mut self) {
        let bytes = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&bytes);
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        let frame = TransportFrame::parse_json(line);
        // The crate answers what is JSON but no message with an error; to text that somebody printed it would be noise.
        let is_json = || line.starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(line).is_ok();
        if matches!(frame, TransportFrame::Single(_)) {
            (self.frames)(frame);
        } else {
            self.hears.garbage(line);
            if is_json() {
                (self.frames)(frame);
            }
        }
    }
}

impl Drop for Stdout {
    fn drop(&mut self) {
        // A last line without its end.
        self.message();
    }
}

/// Our end of a connection.
pub(super) struct Line {
    near: Channel,
    from_us: futures_util::stream::BoxStream<'static, TransportFrame>,
    stdin: UnboundedSender<Vec<u8>>,
}

impl Line {
    /// Holds a conversation; stdin is closed at its end. None: the connection broke before it began.
    pub async fn hold<T, F: Future<Output = T>>(
        self,
        hears: Arc<dyn Hears>,
        conversation: impl FnOnce(Agent) -> F,
    ) -> Option<T> {
        let Self { near, mut from_us, stdin } = self;
        let over = CancellationToken::new();
        let (give, take) = oneshot::channel();
        let serve = Builder::new(Client)
            .name("reflexion")
            .on_receive_dispatch(
                async move |message: Dispatch, _: ConnectionTo<agent_client_protocol::Agent>| hear(&*hears, message),
                agent_client_protocol::on_receive_dispatch!(),
            )
            .connect_with(near, {
                let over = over.clone();
                async move |connection: ConnectionTo<agent_client_protocol::Agent>| {
                    let _ = give.send(Agent(connection));
                    over.cancelled().await;
                    Ok(())
                }
            });
        let write = async move {
            while let Some(frame) = from_us.next().await {
                let Ok(line) = frame.to_json() else { continue };
                // Where nobody reads any more, the program is ending.
                let _ = stdin.send((line + "\n").into_bytes());
            }
        };
        let hold = async {
            let result = match take.await {
                Ok(agent) => Some(conversation(agent).await),
                Err(_) => None,
            };
            over.cancel();
            result
        };
        let (served, (), result) = tokio::join!(serve, write, hold);
        if let Err(error) = served {
            tracing::debug!(%error, "the connection to the agent ended with an error");
        }
        result
    }
}

/// Everything an agent asks for is answered at once: what there is not, with an error, never with silence.
fn hear(hears: &dyn Hears, message: Dispatch) -> Result<(), Error> {
    match message {
        Dispatch::Request(request, responder) => match hears.asked(&request.method, &request.params) {
            Some(answer) => responder.respond(answer),
            None => responder.respond_with_error(Error::method_not_found().data(Value::String(request.method))),
        },
        Dispatch::Notification(notification) => {
            hears.told(&notification.method, &notification.params);
            Ok(())
        }
        Dispatch::Response(result, router) => router.route_with_result(result),
    }
}
