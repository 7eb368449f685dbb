// A program on Fast DDS that passes bytes through: the other side of the tests of skidpad's DDS.
//
//   peer DOMAIN [write TOPIC TYPE QOS] [read TOPIC TYPE QOS]
//
// QOS has letters: r reliable, b best effort, l latched, and a number, the depth: "rl1".
// Lines of hexadecimal digits on stdin are published as they are, with the header of CDR. Lines on
// stdout: "data HEX" for what arrives, "readers N" and "writers N" for how many match.
// Over the loopback interface only. Ends with its stdin.

#include <cstdio>
#include <cstring>
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/DataWriterListener.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastrtps/utils/IPLocator.h>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

using namespace eprosima::fastdds::dds;
using eprosima::fastdds::rtps::UDPv4TransportDescriptor;
using eprosima::fastrtps::rtps::IPLocator;
using eprosima::fastrtps::rtps::Locator_t;
using eprosima::fastrtps::rtps::SerializedPayload_t;

using Bytes = std::vector<unsigned char>;

static std::mutex printing;

static void say(const std::string& line) {
    std::lock_guard<std::mutex> lock(printing);
    std::cout << line << std::endl;
}

class RawType : public TopicDataType {
  public:
    explicit RawType(const std::string& name) {
        setName(name.c_str());
        m_typeSize = 1 << 20;
        m_isGetKeyDefined = false;
        auto_fill_type_object(false);
        auto_fill_type_information(false);
    }
    bool serialize(void* data, SerializedPayload_t* payload) override {
        const Bytes& bytes = *static_cast<Bytes*>(data);
        if (bytes.size() > payload->max_size) return false;
        std::memcpy(payload->data, bytes.data(), bytes.size());
        payload->length = static_cast<uint32_t>(bytes.size());
        payload->encapsulation = CDR_LE;
        return true;
    }
    bool deserialize(SerializedPayload_t* payload, void* data) override {
        static_cast<Bytes*>(data)->assign(payload->data, payload->data + payload->length);
        return true;
    }
    std::function<uint32_t()> getSerializedSizeProvider(void* data) override {
        return [data] { return static_cast<uint32_t>(static_cast<Bytes*>(data)->size()); };
    }
    void* createData() override { return new Bytes; }
    void deleteData(void* data) override { delete static_cast<Bytes*>(data); }
    bool getKey(void*, eprosima::fastrtps::rtps::InstanceHandle_t*, bool) override { return false; }
};

class Reading : public DataReaderListener {
    void on_data_available(DataReader* reader) override {
        Bytes bytes;
        SampleInfo info;
        while (reader->take_next_sample(&bytes, &info) == ReturnCode_t::RETCODE_OK) {
            if (!info.valid_data) continue;
            static const char* digits = "0123456789abcdef";
            std::string line = "data ";
            for (unsigned char byte : bytes) {
                line += digits[byte >> 4];
                line += digits[byte & 15];
            }
            say(line);
        }
    }
    void on_subscription_matched(DataReader*, const SubscriptionMatchedStatus& status) override {
        say("writers " + std::to_string(status.current_count));
    }
};

class Writing : public DataWriterListener {
    void on_publication_matched(DataWriter*, const PublicationMatchedStatus& status) override {
        say("readers " + std::to_string(status.current_count));
    }
};

template <class Policies>
static void apply(const std::string& letters, Policies& qos) {
    bool reliable = letters.find('r') != std::string::npos;
    bool latched = letters.find('l') != std::string::npos;
    qos.reliability().kind = reliable ? RELIABLE_RELIABILITY_QOS : BEST_EFFORT_RELIABILITY_QOS;
    qos.durability().kind = latched ? TRANSIENT_LOCAL_DURABILITY_QOS : VOLATILE_DURABILITY_QOS;
    qos.history().kind = KEEP_LAST_HISTORY_QOS;
    qos.history().depth = std::stoi(letters.substr(letters.find_first_of("0123456789")));
    qos.resource_limits().max_samples = 2 * qos.history().depth + 100;
    qos.resource_limits().max_samples_per_instance = qos.resource_limits().max_samples;
    qos.resource_limits().allocated_samples = 0;
    qos.data_sharing().off();
    qos.endpoint().history_memory_policy =
        eprosima::fastrtps::rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
}

static DomainParticipant* participant_on_loopback(int domain) {
    DomainParticipantQos qos = PARTICIPANT_QOS_DEFAULT;
    auto udp = std::make_shared<UDPv4TransportDescriptor>();
    udp->interfaceWhiteList.push_back("127.0.0.1");
    udp->maxInitialPeersRange = 12;
    qos.transport().use_builtin_transports = false;
    qos.transport().user_transports.push_back(udp);
    Locator_t here;
    IPLocator::setIPv4(here, 127, 0, 0, 1);
    qos.wire_protocol().builtin.initialPeersList.push_back(here);
    return DomainParticipantFactory::get_instance()->create_participant(domain, qos);
}

static Bytes from_hex(const std::string& line) {
    Bytes bytes;
    for (size_t i = 0; i + 1 < line.size(); i += 2)
        bytes.push_back(static_cast<unsigned char>(std::stoi(line.substr(i, 2), nullptr, 16)));
    return bytes;
}

int main(int count, char** arguments) {
    DomainParticipant* participant = participant_on_loopback(std::stoi(arguments[1]));
    if (participant == nullptr) return 1;
    Reading reading;
    Writing writing;
    DataWriter* writer = nullptr;
    for (int k = 2; k + 3 < count; k += 4) {
        TypeSupport type(new RawType(arguments[k + 2]));
        type.register_type(participant);
        Topic* topic = participant->create_topic(arguments[k + 1], arguments[k + 2], TOPIC_QOS_DEFAULT);
        if (std::string(arguments[k]) == "write") {
            DataWriterQos qos = DATAWRITER_QOS_DEFAULT;
            apply(arguments[k + 3], qos);
            qos.publish_mode().kind = SYNCHRONOUS_PUBLISH_MODE;
            // Who comes later is told of what there is with the next of these, else after 3 s.
            qos.reliable_writer_qos().times.heartbeatPeriod = Duration_t{0, 100'000'000};
            Publisher* publisher = participant->create_publisher(PUBLISHER_QOS_DEFAULT);
            writer = publisher->create_datawriter(topic, qos, &writing);
            if (writer == nullptr) return 2;
        } else {
            DataReaderQos qos = DATAREADER_QOS_DEFAULT;
            apply(arguments[k + 3], qos);
            Subscriber* subscriber = participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT);
            if (subscriber->create_datareader(topic, qos, &reading) == nullptr) return 2;
        }
    }
    say("ready");
    std::string line;
    while (std::getline(std::cin, line)) {
        Bytes bytes = from_hex(line);
        if (writer != nullptr) writer->write(&bytes);
    }
    // The listeners must not outlive what they listen to.
    participant->delete_contained_entities();
    DomainParticipantFactory::get_instance()->delete_participant(participant);
    return 0;
}
